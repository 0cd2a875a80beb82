import { type CanActivate, Controller, type ExecutionContext, Get, Inject } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ApiSchema } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import {
  CONFIG,
  type ConfigOf,
  defineErrors,
  defineScopes,
  Operation,
  parsers,
  Sql,
  StoreExtension,
  Text,
} from '../../../src';
import { extensionOf } from '../../../src/api/extension/extension';
import { migrationOf } from '../../database/support/extensions';

const scopes = defineScopes('kennels', 'read');

const errors = defineErrors({
  kennel_closed: { status: 409, when: 'the kennel is closed', message: 'The kennel is closed.' },
  kennel_flooded: { status: 500, when: 'the kennel is flooded', message: 'The kennel is flooded.' },
  under_embargo: { status: 403, when: 'an embargo is on the account', message: 'The embargo is on.' },
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
  @Text({ max: 20, description: 'Name of the kennel.', example: 'North' })
  readonly name!: string;
}

@Controller('kennels')
class KennelsController {
  constructor(
    private readonly sql: Sql,
    @Inject(CONFIG) private readonly config: ConfigOf<typeof settings>,
  ) {}

  @Get('first')
  @Operation({
    id: 'getFirstKennel',
    summary: 'Get the first kennel',
    description: 'Returns the first kennel.',
    scope: scopes.read,
    returns: [200, Kennel, 'The kennel.'],
    rejects: [errors.kennel_closed, errors.kennel_flooded],
  })
  async first(): Promise<Kennel> {
    const [kennel] = await this.sql.rows<Kennel>({ text: 'SELECT name FROM kennels' }, []);
    if (!kennel) throw errors.kennel_closed();
    return { name: this.config.kennelPrefix + kennel.name };
  }
}

class EmbargoGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if ('x-embargo' in headers) throw errors.under_embargo();
    return true;
  }
}

export const Kennels1795300000000 = migrationOf(
  'Kennels1795300000000',
  'CREATE TABLE kennels (name text NOT NULL)',
  'DROP TABLE kennels',
);

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
  providers: [{ provide: APP_GUARD, useClass: EmbargoGuard }],
})
class KennelsModule {}

export const kennels = extensionOf(KennelsModule);
