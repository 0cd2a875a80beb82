import * as fc from 'fast-check';
import { startApp, type TestApp } from '../support/app';
import { moveSequence } from '../support/factories';
import { linksOf } from '../support/links';
import { settle } from '../events/support/feed';

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
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
  });
  afterAll(() => app.close());

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
      numRuns: 20,
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
