import * as fc from 'fast-check';
import { FIRST_TIME } from '../../src/api/fields/fields';
import { settle } from '../events/support/feed';
import { BasketsModule } from '../modules/support/baskets.module';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
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

const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');
const MINUTE_MS = 60_000;
const MAX_OFFSET = 23 * 60 + 59;

/** The parts of a time as text. */
type Parts = Readonly<
  Record<'date' | 'separator' | 'hour' | 'minute' | 'second' | 'fraction' | 'offset', string>
>;

const textOf = ({ date, separator, hour, minute, second, fraction, offset }: Parts) =>
  `${date}${separator}${hour}:${minute}:${second}${fraction}${offset}`;
const two = (value: number) => String(value).padStart(2, '0');

/** A time with any offset and any number of digits, with its text in UTC to the millisecond. */
const TIME = fc
  .record({
    // In each offset the year has four digits.
    time: fc.integer({ min: FIRST_TIME + 86_400_000, max: LAST_TIME - 86_400_000 }),
    minutes: fc.oneof(fc.constant('Z'), fc.constant('z'), fc.integer({ min: -MAX_OFFSET, max: MAX_OFFSET })),
    digits: fc.integer({ min: 0, max: 12 }),
    beyond: fc.constantFrom('000000000', '999999999'),
    separator: fc.constantFrom('T', 't', ' '),
  })
  .map(({ time, minutes, digits, beyond, separator }) => {
    const offset = typeof minutes === 'string' ? 0 : minutes;
    const local = new Date(time + offset * MINUTE_MS).toISOString();
    const fraction = `${local.slice(20, 23)}${beyond}`.slice(0, digits);
    const [, hour = '', minute = '', second = ''] = /T(..):(..):(..)/.exec(local)!;
    const sign = offset < 0 ? '-' : '+';
    const zone = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
    const parts: Parts = {
      date: local.slice(0, 10),
      separator,
      hour,
      minute,
      second,
      fraction: fraction && `.${fraction}`,
      offset: typeof minutes === 'string' ? minutes : zone,
    };
    const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
    return { parts, printed: new Date(time - (((time % 1_000) + 1_000) % 1_000) + ms).toISOString() };
  });

/** Parts that no time has. */
const WRONG = (
  [
    [
      'date',
      ['2026-13-01', '2026-00-01', '2026-11-00', '2026-04-31', '2027-02-29', '0000-01-01', '26-11-21'],
    ],
    ['separator', ['', '_', 'TT']],
    ['hour', ['24', '5', '-1']],
    ['minute', ['60', '5', '']],
    ['second', ['61', '5', '']],
    ['fraction', ['.', ',5', `.${'0'.repeat(39)}`]],
    ['offset', ['', '+24:00', '+02:60', '+0200', '+02', 'UTC', 'ZZ']],
  ] as const
).flatMap(([part, values]) => values.map((value): Partial<Parts> => ({ [part]: value })));

describe('a time of a request', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await app.createKey());
  });

  const PATH = '/v1/baskets?opensAt=';
  const get = (text: string) => app.get(`${PATH}${encodeURIComponent(text)}`, { key });
  const setExpiry = (expiresAt: string) => app.send('PATCH', `/v1/keys/${id}`, { key, body: { expiresAt } });

  it('may have every form of RFC 3339, with any offset and fraction, in a query and a body', async () => {
    const property = fc.asyncProperty(TIME, async ({ parts, printed }) => {
      const text = textOf(parts);
      expect([text, (await get(text)).json.opensAt]).toEqual([text, printed]);
      // A key expires in the future only.
      const isLater = Date.parse(printed) > app.clock.now();
      const { json } = await setExpiry(text);
      expect([text, json.expiresAt ?? json.code]).toEqual([text, isLater ? printed : 'validation_failed']);
    });
    await fc.assert(property, { numRuns: 30 });
  });

  it.each([
    ['2026-11-25T17:00:00.9999999999999999999999+05:45', '2026-11-25T11:15:00.999Z'],
    // Date.parse of V8 reads it as 10 ms.
    ['2026-11-21T12:00:00.0010000000Z', '2026-11-21T12:00:00.001Z'],
    ['2026-11-20T23:50:00-12:30', '2026-11-21T12:20:00.000Z'],
    ['2026-11-25 17:00:00.123456789-00:00', '2026-11-25T17:00:00.123Z'],
    ['1990-12-31T23:59:60Z', '1991-01-01T00:00:00.000Z'],
    ['1990-12-31T15:59:60.25-08:00', '1991-01-01T00:00:00.250Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999+00:00', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', async (text, printed) => {
    expect((await get(text)).json.opensAt).toBe(printed);
  });

  it('is 400 validation_failed in any other form', async () => {
    const property = fc.asyncProperty(TIME, fc.constantFrom(...WRONG), async ({ parts }, wrong) => {
      const text = textOf({ ...parts, ...wrong });
      for (const response of [await get(text), await setExpiry(text)])
        expect({ text, json: response.json }).toMatchObject({ text, json: { code: 'validation_failed' } });
    });
    await fc.assert(property, { numRuns: 30 });
  });

  it.each([
    '',
    'yesterday',
    '2026-11-21',
    '2026-11-21T12:00Z',
    '+02026-11-21T12:00:00.00',
    '2026-11-30T23:58:60Z',
    '9999-12-31T23:59:59-01:00',
    '0001-01-01T00:00:00+00:01',
    '2026-11-21T23:59:60Z',
  ])('400 validation_failed for "%s"', async (text) => {
    for (const response of [await get(text), await setExpiry(text)])
      expectError(response, 400, 'validation_failed');
  });

  it('400 for a + that is not %2B, and for a repeated parameter', async () => {
    const time = '2026-11-21T12:00:00+02:00';
    const { json } = await app.get(`${PATH}${time}`, { key });
    expect(json.message).toBe('opensAt must be a time such as 2026-11-21T12:00:00Z (RFC 3339).');
    const twice = `${PATH}${encodeURIComponent(time)}&opensAt=${encodeURIComponent(time)}`;
    expectError(await app.get(twice, { key }), 400, 'validation_failed');
  });
});
