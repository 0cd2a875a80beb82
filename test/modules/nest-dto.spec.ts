import { Body, Controller, Get, Module, Post, Query } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsDate,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { RequireScope } from '../../src/auth';
import { Int64 } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

class Address {
  @ApiProperty()
  @IsString()
  readonly street!: string;

  @ApiProperty()
  @IsInt()
  @Min(1)
  readonly number!: number;

  @Int64({ description: 'Cadastre.', example: 1 })
  readonly cadastre!: bigint;
}

class NewVisit {
  @ApiProperty()
  @IsInt()
  @Min(0)
  readonly price!: number;

  @ApiProperty()
  @IsNumber()
  readonly weight!: number;

  @ApiProperty()
  @ValidateNested()
  @Type(() => Address)
  readonly address!: Address;

  @ApiPropertyOptional()
  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Address)
  readonly stops?: Address[];

  @ApiPropertyOptional()
  @IsOptional()
  @Transform(({ value }) => (typeof value === 'string' ? value.trim() : value))
  @IsString()
  readonly note?: string;

  @ApiPropertyOptional()
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  readonly at?: Date;
}

class PlainPrice {
  @ApiProperty()
  @IsInt()
  @Max(10)
  readonly price!: number;
}

class VisitsQuery {
  @ApiPropertyOptional()
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  readonly floor?: number;

  @ApiPropertyOptional()
  @IsOptional()
  @Transform(({ value }) => value === 'true')
  @IsBoolean()
  readonly open?: boolean;
}

/** Types as the handler sees them, because JSON has no bigint. */
const described = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each)));

@Controller({ path: 'visits', version: '1' })
class VisitsController {
  @Post()
  @RequireScope('pets:write')
  create(@Body() visit: NewVisit) {
    const { address, stops = [], at } = visit;
    const classes = [address, ...stops, at].map((each) => each?.constructor.name);
    return { visit: described(visit), classes };
  }

  @Post('plain')
  @RequireScope('pets:write')
  plain(@Body() body: PlainPrice) {
    return { body };
  }

  @Get()
  @RequireScope('pets:read')
  list(@Query() query: VisitsQuery) {
    return { query };
  }
}

@Module({ controllers: [VisitsController] })
class VisitsModule {}

const ADDRESS = '{"street":"Elm","number":5,"cadastre":9007199254740993}';

describe("a DTO with Nest's usual decorators", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [VisitsModule] });
  });
  afterAll(() => app.close());

  const post = (body: string, path = '/v1/visits') => app.post(path, body, { isDocumented: false });
  const get = (query: string) => app.get(`/v1/visits?${query}`, { isDocumented: false });

  it('gets numbers, objects of its classes, and an exact int64', async () => {
    const { status, json } = await post(
      `{"price":5,"weight":5,"address":${ADDRESS},"stops":[${ADDRESS}],"note":" late ","at":"2026-12-24T12:00:00Z"}`,
    );
    expect(status).toBe(201);
    const address = { street: 'Elm', number: 5, cadastre: '9007199254740993n' };
    expect(json.visit).toEqual({
      price: 5,
      weight: 5,
      address,
      stops: [address],
      note: 'late',
      at: '2026-12-24T12:00:00.000Z',
    });
    expect(json.classes).toEqual(['Address', 'Address', 'Date']);
    expect((await post('{"price":5}', '/v1/visits/plain')).json).toEqual({ body: { price: 5 } });
  });

  it.each([
    [`{"price":-1,"weight":5.5,"address":${ADDRESS}}`, 'price must not be less than 0.'],
    [`{"price":1.5,"weight":1,"address":${ADDRESS}}`, 'price must be an integer number.'],
    [`{"price":9007199254740993,"weight":1,"address":${ADDRESS}}`, 'price must not be less than 0.'],
    [`{"price":"5","weight":1,"address":${ADDRESS}}`, 'price must not be less than 0.'],
    [
      '{"price":5,"weight":1,"address":{"street":7,"number":5,"cadastre":1}}',
      'address.street must be a string.',
    ],
    [
      '{"price":5,"weight":1,"address":{"street":"Elm","number":0,"cadastre":1}}',
      'address.number must not be less than 1.',
    ],
    [
      `{"price":5,"weight":1,"address":${ADDRESS},"stops":[${ADDRESS},{"street":"Elm","number":5,"cadastre":1.5}]}`,
      'stops.1.cadastre must be an integer from -9223372036854775808 to 9223372036854775807.',
    ],
    [`{"price":5,"weight":1,"address":${ADDRESS},"at":"soon"}`, 'at must be a Date instance.'],
  ])('rejects %s', async (body, message) => {
    const response = await post(body);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain(message);
  });

  it.each(['5', '"Elm"', 'null', '[5]', 'true'])('rejects the nested object %s', async (address) => {
    expectError(await post(`{"price":5,"weight":1,"address":${address}}`), 400, 'validation_failed');
  });

  it('drops undeclared members, also of nested objects, and members of Object.prototype', async () => {
    const evil = '"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"colour":"red"';
    const { json } = await post(
      `{${evil},"price":5,"weight":1,"address":{${evil},"street":"Elm","number":5,"cadastre":1}}`,
    );
    expect(json.visit).toEqual({
      price: 5,
      weight: 1,
      address: { street: 'Elm', number: 5, cadastre: '1n' },
    });
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });

  it('converts query parameters by @Type and @Transform', async () => {
    expect((await get('floor=7&open=true')).json).toEqual({ query: { floor: 7, open: true } });
    expect((await get('')).json).toEqual({ query: {} });
    expectError(await get('floor=ground'), 400, 'validation_failed');
  });
});
