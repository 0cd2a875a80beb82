import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { ConversionsModule } from './support/conversions.module';
import { VisitsModule } from './support/visits.module';

const ADDRESS = '{"street":"Elm","number":5,"cadastre":9007199254740993}';

describe('a service with DTOs of a team', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { modules: [VisitsModule, ConversionsModule] });
  });
  afterAll(() => app.close());

  describe("a DTO with Nest's usual decorators", () => {
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

  describe('an input of a handler', () => {
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
      expectError(
        await post('conditional', { unit: 'm', size: { isKnown: true } }),
        400,
        'validation_failed',
      );
      expect((await post('conditional', { unit: 'm', size: { isKnown: false } })).status).toBe(201);
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
});
