import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';
import { BasketsModule, EMPTY } from './support/baskets.module';
import { HERDS_PATH, ListsModule } from './support/lists.module';
import { NestDtosModule } from './support/nest-dtos.module';

const isDocumented = false;
const ADDRESS = '{"street":"Elm","number":5,"cadastre":9007199254740993}';
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
  stock: 2 ** 40,
  toys: [{ name: 'rope' }],
};

describe('a service with DTOs and lists of a team', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [BasketsModule, ListsModule, NestDtosModule] });
  });
  afterAll(() => app.close());

  describe('a field', () => {
    const post = (body: object | string) => app.post('/v1/baskets', body, { isDocumented });
    const get = (query: string) => app.get(`/v1/baskets?${query}`, { isDocumented });

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
        'label must be a string of 1 to 3 characters, at least one of them not white space, and no',
      ],
      ['label', '\ud800', 'label must be a string of 1 to 3 characters'],
      ['label', '🐈🐈🐈🐈', 'label must be a string of 1 to 3 characters'],
      ['label', undefined, 'label must be a string of 1 to 3 characters'],
      ['note', null, 'note must be a string of 0 to 3 characters without control characters.'],
      ['number', 1.5, 'number must be an integer from -9223372036854775808 to 9223372036854775807.'],
      ['places', 10, 'places must be a whole number from 0 to 9.'],
      ['places', '5', 'places must be a whole number from 0 to 9.'],
      ['weight', 9.6, 'weight must be a number from 0 to 9.5.'],
      ['open', 'true', 'open must be true or false.'],
      ['size', 'l', 'size must be one of s, m.'],
      ['best', [], 'best must be a JSON object.'],
      ['best', { name: 7 }, 'best.name must be a string of 1 to 5 characters'],
      [
        'opensAt',
        '2027-02-29T00:00:00.000Z',
        'opensAt must be a time in UTC to the millisecond, such as 2026',
      ],
      ['opensAt', '2026-11-21T12:00:00Z', 'opensAt must be a time in UTC'],
      ['opensAt', '+02026-11-21T12:00:00.00', 'opensAt must be a time in UTC'],
      ['toys', {}, 'toys must be a list of at most 2 JSON objects'],
      ['toys', Array.from('abc', (name) => ({ name })), 'toys must be a list of at most 2 JSON objects.'],
      ['toys', [{ name: 'a' }, { name: '' }], 'toys.1.name must be a string of 1 to 5 characters'],
    ])('%s rejects %j', async (name, value, message) => {
      const response = await post({ ...FULL, [name]: value });
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toContain(message);
    });

    it('that is required overrides an optional one of a base class', async () => {
      const create = (note: unknown) => app.post('/v1/baskets/labelled', { ...FULL, note }, { isDocumented });
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
      for (const query of ['places=05', 'places=', 'weight=1e0', 'open=1'])
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

  describe("a DTO with Nest's usual decorators", () => {
    const post = (body: string) => app.post('/v1/visits', body, { isDocumented });
    const get = (query: string) => app.get(`/v1/visits?${query}`, { isDocumented });

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
    });

    it.each([
      [`{"price":-1,"weight":5.5,"address":${ADDRESS}}`, 'price must not be less than 0.'],
      [`{"price":9007199254740993,"weight":1,"address":${ADDRESS}}`, 'price must not be less than 0.'],
      [
        '{"price":5,"weight":1,"address":{"street":"Elm","number":0,"cadastre":1}}',
        'address.number must not be less than 1.',
      ],
      [
        `{"price":5,"weight":1,"address":${ADDRESS},"stops":[${ADDRESS},{"street":"Elm","number":5,"cadastre":1.5}]}`,
        'stops.1.cadastre must be an integer from -9223372036854775808 to 9223372036854775807.',
      ],
      [`{"price":5,"weight":1,"address":${ADDRESS},"at":"soon"}`, 'at must be a Date instance.'],
      ['{"price":5,"weight":1,"address":5}', 'address must be either object or array.'],
      ['{"price":5,"weight":1,"address":null}', 'address must be either object or array.'],
      ['{"price":5,"weight":1,"address":[5]}', 'must be either object or array.'],
    ])('rejects %s', async (body, message) => {
      const response = await post(body);
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toContain(message);
    });

    it('400 for an object with more members than class-transformer reads quickly', async () => {
      const many = JSON.stringify(
        Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`m${at}`, 1])),
      );
      for (const body of [many, `{"price":5,"weight":1,"address":${many}}`]) {
        const response = await post(body);
        expectError(response, 400, 'validation_failed');
        expect(response.json.message).toBe('An object has more than 1000 members.');
      }
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

  describe('an input of a handler', () => {
    const post = (path: string, body: object | string) =>
      app.post(`/v1/conversions/${path}`, body, { isDocumented });
    const get = (path: string) => app.get(`/v1/conversions/${path}`, { isDocumented });

    it.each<[string, string, object]>([
      ['@Transform', 'trimmed', { name: 7 }],
      ['@Transform of null', 'trimmed', { name: null }],
      ['@ValidateIf', 'conditional', { unit: 'm' }],
      ['@ValidateIf without a member', 'conditional', {}],
    ])('is rejected if the function of a decorator fails, and the log says so: %s', async (_, path, body) => {
      const rejected = await post(path, body);
      expectError(rejected, 400, 'validation_failed');
      expect(rejected.json.message).toBe('A field has an unexpected type or form.');
      expect(app.log.join('')).toMatch(/of (Trimmed|Conditional) fails on the body: TypeError/);
    });

    it("gets the exception of Nest that a @Transform throws as the response's error", async () => {
      const rejected = await post('banned', { name: 'Rex' });
      expectError(rejected, 410, 'gone');
      expect(rejected.json.message).toBe('Banned since March.');
    });

    it('has the name of @Expose, and a @Transform reads members that no class declares', async () => {
      const { json } = await post('renamed', {
        first_name: 'Ada',
        last_name: 'King',
        fullName: '',
        role: 'x',
      });
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
      expect((await post('anything', { count: 5, list: [1, 2.5] })).json).toEqual({
        count: 5,
        list: [1, 2.5],
      });
    });
  });

  describe("a module's list", () => {
    it.each(['x=1&limit=3', '50 % #1?', 'Gräfrath 🐈', '>; rel="next"'])(
      'filtered by %j has links that keep the filter',
      async (place) => {
        const path = `/v1${HERDS_PATH}?limit=1&place=${encodeURIComponent(place)}`;
        const { next } = linksOf(await app.get(path));
        expect(new URL(next!, app.url).searchParams.get('place')).toBe(place);
        const second = await app.get(next!);
        expect(second).toMatchObject({ status: 200, json: [{ id: 2 }] });
        const { first } = linksOf(second);
        expect((await app.get(first!)).json).toEqual([{ id: 1 }]);
      },
    );

    it('converts limit and its own filters from text', async () => {
      const response = await app.get(`/v1${HERDS_PATH}?limit=2&size=7`);
      expect(response).toMatchObject({ status: 200, json: [{ id: 1 }, { id: 2 }] });
      expect(new URL(linksOf(response)['next']!, app.url).searchParams.get('size')).toBe('7');
      expectError(await app.get(`/v1${HERDS_PATH}?size=many`), 400, 'validation_failed');
    });
  });

  describe("a module's list of the store's animals", () => {
    beforeAll(() => app.post('/v1/pets', aNewPet({ name: 'Rex' })));

    it('has its own fields, and listPets has its own, if both share a query', async () => {
      const paths = ['/v1/names', '/v1/pets', '/v1/names', '/v1/pets'];
      const alone = await Promise.all(paths.slice(0, 2).map((path) => app.get(path)));
      await app.database.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
      const first = app.get('/v1/pets');
      await until(async () => (await lockWaits(app.database)).length > 0);
      // They arrive while the first query waits, so they share the next one.
      const later = paths.map((path) => app.get(path));
      await app.database.query('COMMIT');
      const [names, animals] = alone.map(({ text, headers }) => ({ text, etag: headers.etag }));
      expect(names!.text).toBe('[{"name":"Rex"}]');
      const responses = await Promise.all([...later, first]);
      expect(responses.map(({ text, headers }) => ({ text, etag: headers.etag }))).toEqual([
        names,
        animals,
        names,
        animals,
        animals,
      ]);
    });
  });
});
