import * as fc from 'fast-check';
import { settle } from '../events/support/feed';
import { BasketsModule } from '../modules/support/baskets.module';
import { startApp, type TestApp } from '../support/app';
import { moveSequence } from '../support/factories';
import { linksOf } from '../support/links';

/** For all tests; test/support/app closes it. */
let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp({}, { modules: [BasketsModule] });
  key = await app.unlimitedKey();
});

const [MIN, MAX] = [-(2n ** 63n), 2n ** 63n - 1n];
const EXACT_DOUBLES = 2n ** 53n;

/** Any int64, and those at the ends and beyond the integers that a double has. */
const INT64 = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc
    .bigInt({ min: -3n, max: 3n })
    .chain((near) => fc.constantFrom(EXACT_DOUBLES + near, near - EXACT_DOUBLES, near)),
  fc.bigInt({ min: 0n, max: 3n }).chain((near) => fc.constantFrom(MIN + near, MAX - near)),
);
/** A JSON number of this integer. */
const SPELLED = INT64.chain((value) =>
  fc
    .constantFrom(
      `${value}`,
      `${value}.0`,
      `${value}.000e0`,
      // JSON has no zero before another digit.
      ...(value === 0n ? ['0e-2'] : [`${value}0E-1`, `${value}00e-2`]),
    )
    .map((text): [bigint, string] => [value, text]),
);

describe('an int64', () => {
  const textOf = async (path: string) => (await app.get(path, { key })).text;

  it('has the same digits in each body, query, path, Link and event, as any JSON number of its value', async () => {
    const seen = new Set<bigint>();
    const property = fc.asyncProperty(SPELLED, async ([value, text]) => {
      await app.database.query('DELETE FROM pets; DELETE FROM store_orders');
      const pet = `{"name":"Rex","categoryId":${text}}`;
      const created = await app.post('/v1/pets', pet, { key });
      expect([text, created.text]).toEqual([text, expect.stringContaining(`"categoryId":${value},`)]);
      const batch = await app.post('/v1/pets/batch', `{"items":[${pet}]}`, { key });
      expect(batch.text).toContain(`"categoryId":${value},`);
      const list = `/v1/pets?limit=1&categoryId=${value}`;
      const { next } = linksOf(await app.get(list, { key }));
      expect([await textOf(list), await textOf(next!)]).toEqual([`[${created.text}]`, batch.text]);
      expect(await textOf(`/v1/store/inventory?categoryId=${value}`)).toContain(`"categoryId":${value}}`);
      expect(await textOf('/v1/categories')).toContain(`"categoryId":${value}}`);

      await app.database.query('DELETE FROM pets');
      await app.database.query(
        `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE VALUES ($1, 'Rex', $1, 'available')`,
        [value],
      );
      const found = await app.get(`/v1/pets/${value}`, { key });
      expect(found.text).toContain(`{"id":${value},`);
      expect(found.headers['link']).toBe(`</v1/pets?id=${value}>; rel="successor-version"`);
      expect(await textOf(`/v1/pets?id=${value}`)).toBe(`[${found.text}]`);
      const change = { key, body: `{"categoryId":${text}}` };
      expect((await app.send('PATCH', `/v1/pets/${value}`, change)).text).toBe(found.text);
      const order = await app.post('/v1/store/orders', `{"petId":${text}}`, { key });
      expect(order.text).toContain(`"petId":${value},`);
      expect(await textOf(`/v1/store/orders?petId=${value}`)).toContain(`"petId":${value},`);
      seen.add(value);
    });
    await fc.assert(property, {
      numRuns: 12,
      examples: [
        [[MIN, String(MIN)]],
        [[MAX, '9.223372036854775807e18']],
        [[0n, '-0']],
        [[0n, '0e999999999']],
        [[EXACT_DOUBLES + 1n, '90071992547409930E-1']],
      ],
    });
    await settle(app);
    const events: string[] = [];
    for (let path: string | undefined = '/v1/events?limit=100'; path !== undefined;) {
      const page = await app.get(path, { key });
      events.push(page.text);
      path = page.text === '[]' ? undefined : linksOf(page)['next'];
    }
    for (const value of seen)
      for (const member of ['id', 'categoryId', 'petId'])
        expect([member, value, events.some((text) => text.includes(`"${member}":${value},`))]).toEqual([
          member,
          value,
          true,
        ]);
  });

  it('of a new animal has the same digits in its Location', async () => {
    await app.database.query('DELETE FROM pets');
    await moveSequence(app, 'pets', EXACT_DOUBLES + 1n);
    const created = await app.post('/v1/pets', { name: 'Rex', categoryId: 1 });
    expect(created.headers['location']).toBe(`/v1/pets/${EXACT_DOUBLES + 1n}`);
    expect((await app.get(created.headers['location']!)).text).toBe(created.text);
  });
});

describe('a time of a request', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await app.createKey());
  });

  /** Sends a time in a query and in a body. */
  const send = async (time: string) => [
    await app.get(`/v1/baskets?opensAt=${encodeURIComponent(time)}`, { key }),
    await app.send('PATCH', `/v1/keys/${id}`, { key, body: { expiresAt: time } }),
  ];

  it.each([
    ['2031-11-25T17:00:00Z', '2031-11-25T17:00:00.000Z'],
    ['2031-11-25t17:00:00.1z', '2031-11-25T17:00:00.100Z'],
    ['2031-11-25 17:00:00.123456789-00:00', '2031-11-25T17:00:00.123Z'],
    ['2031-11-25T17:00:00.9999999999999999999999+05:45', '2031-11-25T11:15:00.999Z'],
    // Date.parse of V8 reads it as 10 ms.
    ['2031-11-21T12:00:00.0010000000Z', '2031-11-21T12:00:00.001Z'],
    ['2031-11-20T23:50:00-12:30', '2031-11-21T12:20:00.000Z'],
    ['2032-02-29T00:00:00+23:59', '2032-02-28T00:01:00.000Z'],
    ['2031-12-31T15:59:60.25-08:00', '2032-01-01T00:00:00.250Z'],
    ['9999-12-31T23:59:59.999+00:00', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', async (time, printed) => {
    const [query, body] = await send(time);
    expect([query!.json.opensAt, body!.json.expiresAt]).toEqual([printed, printed]);
  });

  it('may be the first one that PostgreSQL has', async () => {
    const [query] = await send('0001-01-01T00:00:00Z');
    expect(query!.json.opensAt).toBe('0001-01-01T00:00:00.000Z');
  });

  it.each([
    '',
    'yesterday',
    '2031-11-21',
    '2031-11-21T12:00Z',
    '+02031-11-21T12:00:00.00',
    ...['2031-13-01', '2031-00-01', '2031-11-00', '2031-04-31', '2031-02-29', '0000-01-01', '31-11-21'].map(
      (date) => `${date}T12:00:00Z`,
    ),
    ...[
      '12:00:00',
      '_12:00:00',
      'TT12:00:00',
      'T24:00:00',
      'T5:00:00',
      'T12:60:00',
      'T12:5:00',
      'T12:00:61',
    ].map((clock) => `2031-11-21${clock}Z`),
    ...[
      '.Z',
      ',5Z',
      `.${'0'.repeat(39)}Z`,
      '',
      '+24:00',
      '+02:60',
      '+0200',
      '+02',
      'UTC',
      'ZZ',
      ' 02:00',
    ].map((end) => `2031-11-21T12:00:00${end}`),
    '9999-12-31T23:59:59-01:00',
    '9999-12-31T23:59:60Z',
    '0001-01-01T00:00:00+00:01',
  ])('"%s" is 400 validation_failed', async (time) => {
    const message = expect.stringContaining('must be a time such as 2026-11-21T12:00:00Z (RFC 3339)');
    for (const response of await send(time))
      expect(response).toMatchObject({ status: 400, json: { code: 'validation_failed', message } });
  });
});
