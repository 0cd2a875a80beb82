import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { BasketsModule, EMPTY } from './support/baskets.module';
import { NestDtosModule } from './support/nest-dtos.module';

const isDocumented = false;
const ADDRESS = '{"street":"Elm","number":5,"cadastre":9007199254740993}';
const empty = (count: number) => Array.from({ length: count }, () => ({}));
const FULL = {
  // Three code points, six UTF-16 units.
  label: '🐈🐈🐈',
  note: '',
  number: 7,
  places: 5,
  weight: 2,
  open: false,
  size: 'm',
  best: { name: 'ball' },
  opensAt: '2028-02-29T23:59:59.999Z',
  toys: [{ name: 'rope' }],
};

describe('a service with DTOs of a team', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [BasketsModule, NestDtosModule] });
  });
  afterAll(() => app.close());

  describe('a field', () => {
    const post = (body: object | string) => app.post('/v1/baskets', body, { isDocumented });
    const get = (query: string) => app.get(`/v1/baskets?${query}`, { isDocumented });

    it('is validated, passed on and printed as declared, null included', async () => {
      expect((await post(FULL)).json).toEqual(FULL);
      expect((await post(EMPTY)).json).toEqual(EMPTY);
      const exact = '"number":9007199254740993,"price":9007199254740993';
      const { text } = await post(JSON.stringify(FULL).replace('"number":7', exact));
      for (const member of exact.split(',')) expect(text).toContain(member);
      const above = JSON.stringify(FULL).replace('"number":7', '"number":7,"price":9007199254740994');
      expectError(await post(above), 400, 'validation_failed');
    });

    it.each<[string, unknown, string]>([
      [
        'label',
        '🐈🐈🐈🐈',
        'label must be a string of 1 to 3 characters, at least one of them not white space',
      ],
      ['label', undefined, 'label is missing.'],
      ['note', null, 'note must be a string of 0 to 3 characters without control characters.'],
      ['number', 1.5, 'number must be an integer from -9223372036854775808 to 9223372036854775807.'],
      ['price', -1, 'price must be an integer from 0 to 9007199254740993.'],
      ['places', 10, 'places must be a whole number from 0 to 9.'],
      ['weight', 9.6, 'weight must be a number from 0 to 9.5.'],
      ['dose', -1, 'dose must be a number from 0 to 1000.'],
      ['open', 'true', 'open must be true or false.'],
      ['size', 'l', 'size must be one of s, m.'],
      ['best', [], 'best must be a JSON object.'],
      ['best', { name: 7 }, 'best.name must be a string of 1 to 5 characters'],
      ['toys', {}, 'toys must be a list of at most 2 JSON objects'],
      ['toys', [{ name: 'a' }, { name: 'b' }, { name: 'c' }], 'toys must be a list of at most 2'],
      ['toys', [{ name: 'a' }, { name: '' }], 'toys.1.name must be a string of 1 to 5 characters'],
    ])('%s rejects %j', async (name, value, message) => {
      const response = await post({ ...FULL, [name]: value });
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toContain(message);
    });

    it('that is a decimal has the double of its digits, unless they are a fraction and the double is an integer', async () => {
      const withDose = (dose: string) => post(JSON.stringify(FULL).replace('{', `{"dose":${dose},`));
      for (const dose of ['5e-324', '0.10000000000000000001', '1.50000000000000000000', '1000.0'])
        expect((await withDose(dose)).json.dose).toBe(Number(dose));
      for (const dose of ['999.999999999999999', '1.00000000000000000001', '1e-400']) {
        const response = await withDose(dose);
        expectError(response, 400, 'validation_failed');
        expect(response.json.message).toContain('dose must be a number from 0 to 1000.');
      }
    });

    it('that is required overrides an optional one of a base class', async () => {
      const create = (note: unknown) => app.post('/v1/baskets/labelled', { ...FULL, note }, { isDocumented });
      expect((await create('B')).json).toEqual({ note: 'B' });
      for (const note of [undefined, null, '']) expectError(await create(note), 400, 'validation_failed');
    });

    it('of a query is read from text', async () => {
      expect((await get('places=5&weight=2.5&open=false&price=-5')).json).toEqual({
        ...EMPTY,
        places: 5,
        weight: 2.5,
        open: false,
        price: -5,
      });
      for (const query of ['places=05', 'places=', 'price=-6', 'weight=1e0', 'open=1'])
        expectError(await get(query), 400, 'validation_failed');
    });

    it('is in the document with its bounds', async () => {
      const { json } = await app.get('/openapi.json', { key: undefined });
      const { properties, required } = json.components.schemas.Basket;
      expect(required).not.toContain('note');
      expect(properties).toMatchObject({
        label: { type: 'string', minLength: 1, maxLength: 3, nullable: true },
        places: { type: 'integer', format: 'int32', minimum: 0, maximum: 9 },
        price: { type: 'integer', format: 'int64', minimum: 0 },
        weight: { type: 'number', minimum: 0, maximum: 9.5 },
        toys: { type: 'array', maxItems: 2 },
      });
    });
  });

  describe("a DTO with Nest's usual decorators", () => {
    const post = (path: string, body: object | string) =>
      app.post(`/v1/visits${path}`, body, { isDocumented });
    const get = (path: string) => app.get(`/v1/visits${path}`, { isDocumented });

    it('has its operation in the document, with the scope of @RequireScope', async () => {
      const { json } = await app.get('/openapi.json', { key: undefined });
      expect(json.paths['/visits'].get).toMatchObject({
        'x-required-scopes': ['pets:read'],
        security: [{ bearer: [] }],
      });
    });

    it('gets numbers, objects of its classes, and an exact int64', async () => {
      const { status, json } = await post(
        '',
        `{"price":5,"weight":5,"address":${ADDRESS},"stops":[${ADDRESS}],"at":"2026-12-24T12:00:00Z"}`,
      );
      expect(status).toBe(201);
      const address = { street: 'Elm', number: 5, cadastre: '9007199254740993n' };
      const visit = { price: 5, weight: 5, address, stops: [address], at: '2026-12-24T12:00:00.000Z' };
      expect(json).toEqual({ visit, classes: ['Address', 'Address', 'Date'] });
    });

    it.each([
      ['"price":-1,"weight":5.5', ADDRESS, 'price must not be less than 0.'],
      ['"price":5,"weight":1', ADDRESS.replace('5', '0'), 'address.number must not be less than 1.'],
      [
        `"price":5,"weight":1,"stops":[${ADDRESS},{"street":"Elm","number":5,"cadastre":1.5}]`,
        ADDRESS,
        'stops.1.cadastre must be an integer from',
      ],
      ['"price":5,"weight":1,"at":"soon"', ADDRESS, 'at must be a Date instance.'],
      ['"price":5,"weight":1', '5', 'nested property address must be either object or array.'],
    ])('rejects {%s} with the address %s', async (members, address, message) => {
      const response = await post('', `{${members},"address":${address}}`);
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toContain(message);
    });

    it.each([
      ['/v1/visits', 'stops must contain no more than 3 elements', { stops: empty(4) }],
      ['/v1/baskets', 'toys must be a list of at most 2 JSON objects', { ...FULL, toys: empty(3) }],
    ])('of %s has one mistake: %s', async (path, mistake, lists) => {
      const visit = { price: 5, weight: 5, address: { street: 'Elm', number: 5, cadastre: 1 } };
      const { json } = await app.post(path, { ...visit, ...lists }, { isDocumented });
      expect(json.message).toBe(`${mistake}.`);
    });

    it('drops undeclared members, also of nested objects, and members of Object.prototype', async () => {
      const evil = '"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"colour":"red"';
      const address = `{${evil},"street":"Elm","number":5,"cadastre":1}`;
      const { json } = await post('', `{${evil},"price":5,"weight":1,"address":${address}}`);
      expect(json.visit).toEqual({
        price: 5,
        weight: 1,
        address: { street: 'Elm', number: 5, cadastre: '1n' },
      });
      expect(({} as { admin?: unknown }).admin).toBeUndefined();
    });

    it('converts query parameters', async () => {
      expect((await get('?floor=7')).json).toEqual({ floor: 7 });
      expectError(await get('?floor=ground'), 400, 'validation_failed');
    });

    it.each([{ trimmed: 7 }, { trimmed: null }, { size: {} }])(
      'rejects %j if the function of a decorator fails on it, and the log says so',
      async (body) => {
        const rejected = await post('/converted', body);
        expectError(rejected, 400, 'validation_failed');
        expect(rejected.json.message).toBe('A field has an unexpected type or form.');
        expect(app.log.join('')).toContain('of Converted fails on the body: TypeError');
      },
    );

    it('works with @Transform, @Expose, exceptions and asynchronous validators', async () => {
      const { json } = await post('/converted', { first_name: 'Ada', trimmed: ' x ', place: 7 });
      expect(json).toEqual({ firstName: 'Ada', trimmed: 'x', place: 7 });
      expect((await post('/converted', { place: 8 })).json.message).toBe('place must be free.');
      const gone = { code: 'gone', message: 'Banned since March.', status: 410 };
      expect((await post('/converted', { banned: 'Rex' })).json).toEqual(gone);
    });

    it('of a query or path can have an Int64', async () => {
      const { json } = await get('/9007199254740993?id=-5');
      expect(json).toEqual({ path: { id: '9007199254740993n' }, query: { id: '-5n' } });
      for (const path of ['/5?id=05', '/5?id=', '/5?id=1e1', '/5?id=1&id=2', '/9223372036854775808?id=1'])
        expectError(await get(path), 400, 'validation_failed');
    });

    it('may be missing: a body without a class has numbers, as with JSON.parse', async () => {
      const body = { number: 5, list: [1, 2.5] };
      expect((await post('/anything', body)).json).toEqual({ body, number: 5 });
    });
  });
});
