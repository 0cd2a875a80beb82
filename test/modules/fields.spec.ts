import { Body, Controller, Get, Module, Post, Query } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import {
  type Choice,
  Decimal,
  Flag,
  Int64,
  Integer,
  ListOf,
  Nested,
  OneOf,
  Operation,
  RequireScope,
  Text,
  Timestamp,
} from '../../src';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const SIZE: Choice = { name: 'Size', description: 'A size.', values: ['s', 'm'] };

@ApiSchema({ description: 'A toy.' })
class Toy {
  @Text({ max: 5, description: 'Name.', example: 'ball' })
  readonly name!: string;
}

@ApiSchema({ description: 'A basket.' })
class Basket {
  @Text({ max: 3, nullable: true, description: 'Label.', example: 'A' })
  readonly label!: string | null;

  @Text({ min: 0, max: 3, optional: true, description: 'Note.', example: '' })
  readonly note?: string;

  @Int64({ nullable: true, description: 'Number.', example: 1 })
  readonly number!: bigint | null;

  @Integer({ min: 0, max: 9, description: 'Places.', example: 1 })
  readonly places!: number;

  @Decimal({ min: 0, max: 9.5, description: 'Weight.', example: 1.5 })
  readonly weight!: number;

  @Flag({ description: 'Open.', example: true })
  readonly open!: boolean;

  @OneOf(SIZE, { nullable: true, description: 'Size.', example: 's' })
  readonly size!: string | null;

  @Nested(() => Toy, { nullable: true, description: 'The best toy.' })
  readonly best!: Toy | null;

  @Timestamp({ description: 'Opening.', example: '2026-11-21T12:00:00.000Z' })
  readonly opensAt!: string;

  @Integer({ min: 0, max: 2 ** 40, optional: true, description: 'Stock.', example: 1 })
  readonly stock?: number;

  @ListOf(() => Toy, { max: 2, description: 'All toys.' })
  readonly toys!: Toy[];
}

class Labelled extends Basket {
  @Text({ max: 3, description: 'Note.', example: 'B' })
  declare readonly note: string;
}

class BasketsQuery {
  @Integer({ min: 0, max: 9, optional: true, description: 'Places.', example: 1 })
  readonly places?: number;

  @Decimal({ min: 0, max: 9.5, optional: true, description: 'Weight.', example: 1.5 })
  readonly weight?: number;

  @Flag({ optional: true, description: 'Open.', example: true })
  readonly open?: boolean;
}

@Controller({ path: 'baskets', version: '1' })
class BasketsController {
  @Post()
  @Operation({
    id: 'createBasket',
    summary: 'Create a basket',
    description: 'Returns the basket.',
    scope: 'pets:write',
    returns: [201, Basket, 'The basket.'],
  })
  create(@Body() basket: Basket) {
    return basket;
  }

  @Post('labelled')
  @RequireScope('pets:write')
  createLabelled(@Body() basket: Labelled) {
    return { note: basket.note };
  }

  @Get()
  @Operation({
    id: 'findBasket',
    summary: 'Find a basket',
    description: 'Returns a basket.',
    scope: 'pets:read',
    returns: [200, Basket, 'The basket.'],
  })
  find(@Query() query: BasketsQuery) {
    return Object.assign({ ...EMPTY }, query);
  }
}

@Module({ controllers: [BasketsController] })
class BasketsModule {}

const EMPTY = {
  label: null,
  number: null,
  places: 1,
  weight: 0,
  open: true,
  size: null,
  best: null,
  opensAt: '0001-01-01T00:00:00.000Z',
  toys: [],
};
const FULL = {
  label: 'A',
  note: '',
  number: 7,
  places: 5,
  weight: 2,
  open: false,
  size: 'm',
  best: { name: 'ball' },
  opensAt: '2028-02-29T23:59:59.999Z',
  stock: 2 ** 40,
  toys: [{ name: 'rope' }],
};

describe('a field', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [BasketsModule] });
  });
  afterAll(() => app.close());

  const post = (body: object | string) => app.post('/v1/baskets', body, { isDocumented: false });
  const get = (query: string) => app.get(`/v1/baskets?${query}`, { isDocumented: false });

  it('is validated, passed on and printed as declared, null included', async () => {
    expect((await post(FULL)).json).toEqual(FULL);
    expect((await post(EMPTY)).json).toEqual(EMPTY);
    const { text } = await post(JSON.stringify(FULL).replace('"number":7', '"number":9007199254740993'));
    expect(text).toContain('"number":9007199254740993');
  });

  it.each<[string, unknown, string]>([
    [
      'label',
      '',
      'label must be a string of 1 to 3 characters, at least one of them not white space, and no control characters.',
    ],
    ['label', ' ', 'label must be a string of 1 to 3 characters'],
    ['label', 'four', 'label must be a string of 1 to 3 characters'],
    ['label', 'a\u0000', 'label must be a string of 1 to 3 characters'],
    ['label', '\ud800', 'label must be a string of 1 to 3 characters'],
    ['label', undefined, 'label must be a string of 1 to 3 characters'],
    ['note', null, 'note must be a string of 0 to 3 characters without control characters.'],
    ['number', 1.5, 'number must be an integer from -9223372036854775808 to 9223372036854775807.'],
    ['places', 10, 'places must be a whole number from 0 to 9.'],
    ['places', '5', 'places must be a whole number from 0 to 9.'],
    ['places', null, 'places must be a whole number from 0 to 9.'],
    ['weight', 9.6, 'weight must be a number from 0 to 9.5.'],
    ['weight', '2', 'weight must be a number from 0 to 9.5.'],
    ['open', 'true', 'open must be true or false.'],
    ['size', 'l', 'size must be one of s, m.'],
    ['best', [], 'best must be a JSON object.'],
    ['best', { name: 7 }, 'best.name must be a string of 1 to 5 characters'],
    ['opensAt', '2027-02-29T00:00:00.000Z', 'opensAt must be a time in UTC to the millisecond, such as 2026'],
    ['opensAt', '2026-11-21T12:00:00Z', 'opensAt must be a time in UTC'],
    ['opensAt', '0000-12-31T00:00:00.000Z', 'opensAt must be a time in UTC'],
    ['opensAt', '+02026-11-21T12:00:00.00', 'opensAt must be a time in UTC'],
    ['opensAt', 'Sat, 21 Nov 2026 12:00 Z', 'opensAt must be a time in UTC'],
    ['opensAt', 1_795_262_400_000, 'opensAt must be a time in UTC'],
    ['toys', {}, 'toys must be a list of at most 2 JSON objects'],
    ['toys', [{ name: 'a' }, { name: 'b' }, { name: 'c' }], 'toys must be a list of at most 2 JSON objects.'],
    ['toys', [{ name: 'a' }, { name: '' }], 'toys.1.name must be a string of 1 to 5 characters'],
  ])('%s rejects %j', async (name, value, message) => {
    const response = await post({ ...FULL, [name]: value });
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toContain(message);
  });

  it('of 3 code points may have 6 UTF-16 units', async () => {
    expect((await post({ ...FULL, label: '🐈🐈🐈' })).json.label).toBe('🐈🐈🐈');
    expectError(await post({ ...FULL, label: '🐈🐈🐈🐈' }), 400, 'validation_failed');
  });

  it('that is required overrides an optional one of a base class', async () => {
    const create = (note: unknown) =>
      app.post('/v1/baskets/labelled', { ...FULL, note }, { isDocumented: false });
    expect((await create('B')).json).toEqual({ note: 'B' });
    for (const note of [undefined, null, '']) expectError(await create(note), 400, 'validation_failed');
  });

  it('of a query is read from text', async () => {
    expect((await get('places=5&weight=2.5&open=false')).json).toEqual({
      ...EMPTY,
      places: 5,
      weight: 2.5,
      open: false,
    });
    for (const query of [
      'places=05',
      'places=1e0',
      'places=',
      'weight=1e0',
      'weight=.5',
      'open=yes',
      'open=1',
    ])
      expectError(await get(query), 400, 'validation_failed');
  });

  it('is in the document with its bounds', async () => {
    const { json } = await app.get('/openapi.json', { key: undefined });
    const { properties, required } = json.components.schemas.Basket;
    expect(required).not.toContain('note');
    const { example } = json.components.schemas.Basket;
    expect(example).toMatchObject({ best: { name: 'ball' }, toys: [{ name: 'ball' }] });
    expect(properties.label).toMatchObject({ type: 'string', minLength: 1, maxLength: 3, nullable: true });
    expect(properties.places).toMatchObject({ type: 'integer', minimum: 0, maximum: 9 });
    expect(properties.places.format).toBe('int32');
    expect(properties.stock.format).toBe('int64');
    expect(properties.opensAt).toMatchObject({ type: 'string', format: 'date-time', maxLength: 24 });
    expect(properties.weight).toMatchObject({ type: 'number', minimum: 0, maximum: 9.5 });
    expect(properties.toys).toMatchObject({ type: 'array', maxItems: 2 });
  });
});
