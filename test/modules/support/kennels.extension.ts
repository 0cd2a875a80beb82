import { type CanActivate, Controller, type ExecutionContext, Get, Inject, Injectable } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  CONFIG,
  type ConfigOf,
  defineErrors,
  defineScopes,
  Operation,
  parsers,
  Sql,
  StoreExtension,
} from '../../../src';
import { extensionOf } from '../../../src/platform/extension/extension';

const scopes = defineScopes('kennels', 'read');

const errors = defineErrors({
  kennel_closed: { status: 409, when: 'the kennel is closed', message: 'The kennel is closed.' },
  under_embargo: {
    status: 403,
    when: 'the account is under embargo',
    message: 'The account is under embargo.',
  },
});

const settings = {
  kennelPrefix: {
    variable: 'KENNEL_PREFIX',
    defaultText: '',
    parse: parsers.oneOf('', 'Great-'),
    meaning: 'Text before the name of each kennel.',
  },
};

@ApiSchema({ name: 'Kennel', description: 'A kennel.' })
class Kennel {
  @ApiProperty({ type: 'string', maxLength: 20, description: 'Name of the kennel.', example: 'North' })
  readonly name!: string;
}

@Injectable()
class KennelsRepository {
  constructor(
    private readonly sql: Sql,
    @Inject(CONFIG) private readonly config: ConfigOf<typeof settings>,
  ) {}

  async first(): Promise<Kennel> {
    const [kennel] = await this.sql.rows<Kennel>({ text: 'SELECT name FROM kennels' }, []);
    if (!kennel) throw errors.kennel_closed();
    return { name: this.config.kennelPrefix + kennel.name };
  }
}

@Controller('kennels')
class KennelsController {
  constructor(private readonly kennels: KennelsRepository) {}

  @Get('first')
  @Operation({
    id: 'getFirstKennel',
    summary: 'Get the first kennel',
    description: 'Returns the first kennel.',
    scope: scopes.read,
    returns: [200, Kennel, 'The kennel.'],
    rejects: [errors.kennel_closed],
  })
  first() {
    return this.kennels.first();
  }
}

@Injectable()
class EmbargoGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if ('x-embargo' in headers) throw errors.under_embargo();
    return true;
  }
}

export class Kennels1795300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE kennels (name text NOT NULL)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE kennels');
  }
}

/** An extension as a team writes it. */
@StoreExtension({
  name: 'kennels',
  migrations: [Kennels1795300000000],
  scopes: Object.values(scopes),
  tags: { kennels: 'Where animals live.' },
  errors: [errors.under_embargo],
  settings,
  compatibility: '>=2.0.0 <3.0.0',
  controllers: [KennelsController],
  providers: [KennelsRepository, { provide: APP_GUARD, useClass: EmbargoGuard }],
})
class KennelsModule {}

export const kennels = extensionOf(KennelsModule);
