import {
  Body,
  Controller,
  createParamDecorator,
  Get,
  GoneException,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Query,
} from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Expose, Transform, Type } from 'class-transformer';
import { IsObject, IsOptional, IsString, MinLength, ValidateIf, ValidateNested } from 'class-validator';
import { Int64, RequireScope } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

/** Throws for a value that is not a text, as in many examples. */
class Trimmed {
  @ApiProperty()
  @Transform(({ value }) => value.trim())
  @IsString()
  readonly name!: string;
}

class Banned {
  @ApiProperty()
  @Transform(() => {
    throw new GoneException('Banned since March.');
  })
  @IsString()
  readonly name!: string;
}

class Renamed {
  @ApiProperty({ name: 'first_name' })
  @Expose({ name: 'first_name' })
  @IsString()
  readonly firstName!: string;

  @ApiPropertyOptional()
  @IsOptional()
  @Transform(({ obj }: { obj: Record<string, string> }) => `${obj['first_name']} ${obj['last_name']}`)
  @IsString()
  readonly fullName?: string;
}

class Conditional {
  @ApiPropertyOptional()
  @IsOptional()
  @IsObject()
  readonly size?: { readonly isKnown: boolean };

  @ApiProperty()
  @ValidateIf(({ size }: Conditional) => size!.isKnown)
  @MinLength(2)
  readonly unit!: string;
}

class ById {
  @Int64({ description: 'Number.', example: 1 })
  readonly id!: bigint;
}

class Chipped {
  @IsString()
  readonly kind!: string;
}

class Numbered extends Chipped {
  @Int64({ description: 'Number.', example: 1 })
  readonly chip!: bigint;
}

class Owned {
  @ApiProperty()
  @ValidateNested()
  @Type(() => Chipped, {
    keepDiscriminatorProperty: true,
    discriminator: { property: 'kind', subTypes: [{ value: Numbered, name: 'numbered' }] },
  })
  readonly animal!: Chipped;
}

class Visitor {
  @IsString()
  readonly name = 'Ada';

  readonly secret?: string;
}

const CurrentVisitor = createParamDecorator(() => Object.assign(new Visitor(), { secret: 'kept' }));

@Controller({ path: 'conversions', version: '1' })
class ConversionsController {
  @Post('trimmed')
  @RequireScope('pets:write')
  trim(@Body() body: Trimmed) {
    return body;
  }

  @Post('banned')
  @RequireScope('pets:write')
  ban(@Body() body: Banned) {
    return body;
  }

  @Post('renamed')
  @RequireScope('pets:write')
  rename(@Body() body: Renamed) {
    return body;
  }

  @Post('conditional')
  @RequireScope('pets:write')
  measure(@Body() body: Conditional) {
    return body;
  }

  @Post('owned')
  @RequireScope('pets:write')
  own(@Body() { animal }: Owned) {
    return animal instanceof Numbered ? { chip: String(animal.chip + 1n) } : animal;
  }

  @Post('number')
  @RequireScope('pets:write')
  count(@Body('number', ParseIntPipe) number: number) {
    return { number };
  }

  @Post('anything')
  @RequireScope('pets:write')
  keep(@Body() body: unknown) {
    return body;
  }

  @Get('visitor')
  @RequireScope('pets:read')
  visitor(@CurrentVisitor() visitor: Visitor) {
    return visitor;
  }

  @Get(':id')
  @RequireScope('pets:read')
  find(@Param() path: ById, @Query() query: ById) {
    return { path: String(path.id + 1n), query: String(query.id + 1n) };
  }
}

@Module({ controllers: [ConversionsController] })
class ConversionsModule {}

describe('an input of a handler', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [ConversionsModule] });
  });
  afterAll(() => app.close());

  const isDocumented = false;
  const post = (path: string, body: object | string) =>
    app.post(`/v1/conversions/${path}`, body, { isDocumented });
  const get = (path: string) => app.get(`/v1/conversions/${path}`, { isDocumented });

  it.each<[string, string, object, string]>([
    ['@Transform', 'trimmed', { name: 7 }, 'name has'],
    ['@Transform of null', 'trimmed', { name: null }, 'name has'],
    ['@ValidateIf', 'conditional', { unit: 'm' }, 'unit has'],
    ['@ValidateIf without a member', 'conditional', {}, 'A field has'],
  ])(
    'is rejected if the function of a decorator fails, and the log says so: %s',
    async (_, path, body, subject) => {
      const rejected = await post(path, body);
      expectError(rejected, 400, 'validation_failed');
      expect(rejected.json.message).toBe(`${subject} an unexpected type or form.`);
      expect(app.log.join('')).toMatch(/of (Trimmed|Conditional) fails on the body: TypeError/);
    },
  );

  it('is accepted if the same function does not fail', async () => {
    expect((await post('trimmed', { name: ' Rex ' })).json).toEqual({ name: 'Rex' });
    expectError(await post('conditional', { unit: 'm', size: { isKnown: true } }), 400, 'validation_failed');
    expect((await post('conditional', { unit: 'm', size: { isKnown: false } })).status).toBe(201);
  });

  it("gets the exception of Nest that a @Transform throws as the response's error", async () => {
    const rejected = await post('banned', { name: 'Rex' });
    expectError(rejected, 410, 'gone');
    expect(rejected.json.message).toBe('Banned since March.');
  });

  it('has the name of @Expose, and a @Transform reads members that no class declares', async () => {
    const { json } = await post('renamed', { first_name: 'Ada', last_name: 'King', fullName: '', role: 'x' });
    expect(json).toEqual({ firstName: 'Ada', fullName: 'Ada King' });
  });

  it('of a query or path can be an Int64', async () => {
    const { json } = await get('9007199254740992?id=-5');
    expect(json).toEqual({ path: '9007199254740993', query: '-4' });
    for (const path of ['5?id=05', '5?id=', '5?id=1e1', '5?id=1&id=2', '9223372036854775808?id=1']) {
      expectError(await get(path), 400, 'validation_failed');
    }
  });

  it('has the class that a discriminator names, with its Int64', async () => {
    const chips = ['7', '9007199254740992'].map((chip) => `{"animal":{"kind":"numbered","chip":${chip}}}`);
    const [small, large] = await Promise.all(chips.map((body) => post('owned', body)));
    expect([small!.json, large!.json]).toEqual([{ chip: '8' }, { chip: '9007199254740993' }]);
    expect((await post('owned', { animal: { kind: 'other' } })).json).toEqual({ kind: 'other' });
  });

  it("keeps the value of a module's own parameter decorator unchanged", async () => {
    expect((await get('visitor')).json).toEqual({ name: 'Ada', secret: 'kept' });
  });

  it('without a DTO class has numbers, as with JSON.parse', async () => {
    expect((await post('number', { number: 5 })).json).toEqual({ number: 5 });
    expect((await post('anything', { count: 5, list: [1, 2.5] })).json).toEqual({ count: 5, list: [1, 2.5] });
  });
});
