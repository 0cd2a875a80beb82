import { Agent } from 'node:http';
import type { PlanChoice } from '../../src/accounts';
import type { TestApp } from '../support/app';
import { describeOverStores } from '../support/stores';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';

const DAY = 86_400;
const custom = { perMinute: null, perDay: null };
const PLANS: [PlanChoice, number, number][] = [
  [{ plan: 'free', ...custom }, 60, 1_000],
  [{ plan: 'pro', ...custom }, 300, 10_000],
  [{ plan: 'business', ...custom }, 1_000, 100_000],
  [{ plan: 'enterprise', perMinute: 7, perDay: 20 }, 7, 20],
];

/** Enough connections for concurrent requests. A thousand connections would take a second. */
const agent = new Agent({ keepAlive: true, maxSockets: 32 });

/** Limit, Remaining and Reset. */
function shown({ headers }: HttpResponse): number[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
}

describeOverStores('limits by plan', (start, isFirst) => {
  const plans = isFirst ? PLANS : PLANS.filter(([, perMinute]) => perMinute <= 60);
  let app: TestApp;
  let midnight: number;
  beforeAll(async () => {
    app = await start();
  });
  /** Starts an application at noon. */
  beforeEach(() => {
    const now = app.clock.now() / 1_000;
    const nextNoon = Math.ceil(now / DAY - 0.5) * DAY + DAY / 2;
    app.clock.advance({ seconds: nextNoon - now });
    midnight = nextNoon + DAY / 2;
  });
  afterAll(() => app.close());

  const keyOn = async (choice: PlanChoice) => (await app.createKey({ choice })).key;
  const seconds = () => Math.ceil(app.clock.now() / 1_000);

  /** Leaves three requests of the day to each account, by a change in the database. */
  async function useUpAllButThree(keyIds: readonly string[]): Promise<void> {
    await app.database.query(
      `INSERT INTO rate_limit_counters
       SELECT 'account:' || account_id, 0, $3, used, $4
       FROM unnest($1::uuid[], $2::int[]) AS spent (key_id, used) JOIN api_keys ON id = key_id
       ON CONFLICT (owner) DO UPDATE SET day_used = excluded.day_used, minute_ends_at = excluded.minute_ends_at`,
      [
        keyIds,
        plans.map(([, , perDay]) => perDay - 3),
        new Date(app.clock.now()),
        new Date(midnight * 1_000),
      ],
    );
  }

  it.each(plans.filter(([, perMinute]) => perMinute <= 60))(
    '%j admits exactly its limit in a minute, and each response decreases Remaining by one',
    async (choice, perMinute) => {
      const key = await keyOn(choice);
      const begin = seconds();
      for (let remaining = perMinute - 1; remaining >= 0; remaining -= 1) {
        const response = await app.get('/v1/pets', { key });
        expect([response.status, ...shown(response)]).toEqual([200, perMinute, remaining, begin + 60]);
      }
      const refused = await app.get('/v1/pets', { key });
      expectError(refused, 429, 'rate_limit_exceeded');
      expect(shown(refused)).toEqual([perMinute, 0, begin + 60]);
      expect(Number(refused.headers['retry-after'])).toBe(60);
    },
  );

  it.each(plans)(
    '%j admits exactly its limit of concurrent requests over two routes',
    async (choice, perMinute) => {
      const key = await keyOn(choice);
      const responses = await Promise.all(
        Array.from({ length: perMinute + 50 }, (_, at) =>
          app.get(at % 2 === 0 ? '/v1/pets?limit=1' : '/v1/nothing', { key, agent }),
        ),
      );
      const admitted = responses.filter(({ status }) => status !== 429);
      expect(admitted).toHaveLength(perMinute);
      expect(admitted.map((response) => shown(response)[1]).sort((a, b) => a! - b!)).toEqual(
        Array.from({ length: perMinute }, (_, at) => at),
      );
    },
  );

  it('the minute begins with its first counted request, and a new one follows', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 2, perDay: 100 });
    app.clock.advance({ seconds: 41.5 });
    const begin = app.clock.now() / 1_000;
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 1, Math.ceil(begin + 60)]);
    app.clock.advance({ seconds: 30 });
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 0, Math.ceil(begin + 60)]);
    app.clock.advance({ seconds: 29.999 });
    const refused = await app.get('/v1/pets', { key });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    app.clock.advance({ seconds: 0.001 });
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 1, Math.ceil(begin + 120)]);
  });

  it('Retry-After reaches Reset, and a client that respects it is admitted', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 1, perDay: 100 });
    for (const wait of [0.25, 7.8, 0.001, 59.999]) {
      app.clock.advance({ seconds: wait });
      await app.get('/v1/pets', { key });
      const refused = await app.get('/v1/pets', { key });
      const retryAfter = Number(refused.headers['retry-after']);
      expect(Math.floor(app.clock.now() / 1_000) + retryAfter).toBeGreaterThanOrEqual(shown(refused)[2]!);
      app.clock.advance({ seconds: retryAfter });
      expect((await app.get('/v1/pets', { key })).status).toBe(200);
      app.clock.advance({ seconds: 60 });
    }
  });

  it('each plan admits exactly its limit in a UTC day', async () => {
    const keys: { id: string; key: string }[] = [];
    for (const [choice] of plans) keys.push(await app.createKey({ choice }));
    for (const { key } of keys) await app.get('/v1/pets', { key });
    await app.restart(() => useUpAllButThree(keys.map(({ id }) => id)));
    for (const [at, [, perMinute, perDay]] of plans.entries()) {
      const ask = () => app.get('/v1/pets', { key: keys[at]?.key });
      expect(shown(await ask())[1]).toBe(Math.min(perMinute - 1, 2));
      expect((await ask()).status).toBe(200);
      expect(shown(await ask())).toEqual([perDay, 0, midnight]);
      const refused = await ask();
      expectError(refused, 429, 'daily_quota_exceeded');
      expect(shown(refused)).toEqual([perDay, 0, midnight]);
      expect(Number(refused.headers['retry-after'])).toBe(DAY / 2);
    }
    app.clock.advance({ seconds: DAY / 2 });
    for (const { key } of keys) expect((await app.get('/v1/pets', { key })).status).toBe(200);
  });

  it('a request that one window rejects is counted in neither', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 2, perDay: 3 });
    const day = (response: HttpResponse) => /"day";r=(\d+)/.exec(String(response.headers['ratelimit']))?.[1];
    await app.get('/v1/pets', { key });
    await app.get('/v1/pets', { key });
    for (let at = 0; at < 5; at += 1) expect(day(await app.get('/v1/pets', { key }))).toBe('1');
    app.clock.advance({ seconds: 60 });
    expect(day(await app.get('/v1/pets', { key }))).toBe('0');
    for (let at = 0; at < 5; at += 1) {
      const refused = await app.get('/v1/pets', { key });
      expectError(refused, 429, 'daily_quota_exceeded');
      expect(refused.headers['ratelimit']).toMatch(/^"minute";r=1;t=\d+, "day";r=0;t=\d+$/);
    }
  });

  it('the headers show the exhausted window that resets last on 429, else the one with the fewest requests left', async () => {
    const key = await keyOn({ plan: 'enterprise', perMinute: 2, perDay: 2 });
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 1, midnight]);
    expect(shown(await app.get('/v1/pets', { key }))).toEqual([2, 0, midnight]);
    expectError(await app.get('/v1/pets', { key }), 429, 'daily_quota_exceeded');
    // In the last minute of the day the minute resets later than the day.
    const late = await keyOn({ plan: 'enterprise', perMinute: 1, perDay: 1 });
    app.clock.advance({ seconds: 12 * 3_600 - 30 });
    await app.get('/v1/pets', { key: late });
    const refused = await app.get('/v1/pets', { key: late });
    expectError(refused, 429, 'rate_limit_exceeded');
    expect(shown(refused)).toEqual([1, 0, midnight + 30]);
  });

  it('RateLimit-Policy and RateLimit show both windows', async () => {
    const { headers } = await app.get('/v1/pets', { key: await keyOn({ plan: 'free', ...custom }) });
    expect(headers['ratelimit-policy']).toBe('"minute";q=60;w=60, "day";q=1000;w=86400');
    expect(headers['ratelimit']).toBe('"minute";r=59;t=60, "day";r=999;t=43200');
  });

  it('two keys of one account share its windows, two accounts do not', async () => {
    const choice = { plan: 'enterprise', perMinute: 5, perDay: 100 } as const;
    const first = await app.createKey({ account: 'shared', choice });
    const second = await app.createKey({ account: 'shared', choice: undefined });
    const other = await keyOn(choice);
    expect(shown(await app.get('/v1/pets', first))[1]).toBe(4);
    expect(shown(await app.get('/v1/pets', second))[1]).toBe(3);
    expect(shown(await app.get('/v1/pets', { key: other }))[1]).toBe(4);
  });

  it('every request with a valid key is counted, 400 to 415 included; other paths and preflights are not', async () => {
    const { key } = app;
    const remaining = async (response: Promise<HttpResponse>) => shown(await response)[1];
    expect(await remaining(app.get('/v1/pets', { key }))).toBe(999);
    expect(await remaining(app.get('/v1/pets?limit=0', { key }))).toBe(998);
    expect(await remaining(app.get('/v1/pets/9', { key }))).toBe(997);
    expect(await remaining(app.get('/v1/nothing', { key }))).toBe(996);
    expect(await remaining(app.send('DELETE', '/v1/pets', { key }))).toBe(995);
    expect(await remaining(app.get('/v1/%ff', { key }))).toBe(994);
    expect(await remaining(app.post('/v1/pets', '{', { key }))).toBe(993);
    for (const path of ['/livez', '/nothing', '/docs', '/openapi.json']) await app.get(path, { key });
    expect(await remaining(app.get('/v1/pets', { key }))).toBe(992);
  });
});
