import { COMMON_HEADERS } from '../../src/platform/api-docs/header-catalogue';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse, RequestOptions } from '../support/http';
import { scrape, valueOf } from '../support/metrics';
import { ThrottledModule } from './support/throttled.module';

const HOUR_SECONDS = 3_600;
const FREE = { plan: 'free', perMinute: null, perDay: null } as const;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
const statuses = (responses: readonly HttpResponse[]) => responses.map(({ status }) => status);

describe('@Throttle on a route', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 2, metricsPort: 0 }, { modules: [ThrottledModule] });
  });
  beforeEach(async () => {
    ({ key } = await app.createKey());
  });

  const secondsFromNow = (seconds: number) => Math.ceil(app.clock.now() / 1_000) + seconds;
  const book = (options: RequestOptions = {}) => app.post('/v1/slots', '{}', { key, ...options });
  const get = (path: string, options: RequestOptions = {}) => app.get(`/v1/${path}`, { key, ...options });
  async function times(count: number, request: () => Promise<HttpResponse>): Promise<HttpResponse[]> {
    const responses: HttpResponse[] = [];
    for (let at = 0; at < count; at += 1) responses.push(await request());
    return responses;
  }

  it('rejects with rate_limit_exceeded, Retry-After and the window of the route, which ends after its ttl', async () => {
    const reset = secondsFromNow(HOUR_SECONDS);
    await times(5, book);
    app.clock.advance({ seconds: 600 });
    const rejected = await book();
    expectError(rejected, 429, 'rate_limit_exceeded');
    expect(rejected.json.message).toMatch(
      /^The requests of this operation are used up\. Try again in 3000 s/,
    );
    expect(rejected.headers['retry-after']).toBe('3000');
    expect(shown(rejected)).toEqual([5, 0, reset]);
    app.clock.advance({ seconds: 3_000 });
    expect(shown(await book())).toEqual([5, 4, secondsFromNow(HOUR_SECONDS)]);
  });

  it('lists its windows after those of the plan, and shows whichever window is tightest', async () => {
    const { headers } = await book();
    expect(headers['ratelimit-policy']).toBe(
      '"minute";q=1000;w=60, "day";q=100000;w=86400, "default";q=5;w=3600',
    );
    expect(headers['ratelimit']).toMatch(/^"minute";r=999;t=60, "day";r=99999;t=\d+, "default";r=4;t=3600$/);
    expect(shown(await get('slots/roomy'))).toEqual([1_000, 998, secondsFromNow(60)]);
    const list = await get('slots');
    expect(shown(list)).toEqual([1_000, 997, secondsFromNow(60)]);
    expect(list.headers['ratelimit-policy']).toBe('"minute";q=1000;w=60, "day";q=100000;w=86400');
  });

  it('counts for each account and each route: all keys of an account share it, HEAD and GET share it', async () => {
    const account = 'shared';
    const [one, other] = [await app.createKey({ account }), await app.createKey({ account })];
    const search = (each: { key: string }, method = 'GET') =>
      app.send(method, '/v1/slots/search', { key: each.key });
    expect(statuses([await search(one), await search(other, 'HEAD'), await search(one)])).toEqual([
      200, 200, 429,
    ]);
    expect(statuses([await get('slots/search'), await get('slots/own', { key: one.key })])).toEqual([
      200, 200,
    ]);
  });

  it('enforces several windows, the shortest first, and lists all on a 429: a longer one does not count what a shorter one rejects', async () => {
    const search = () => get('slots/search');
    const responses = await times(4, search);
    expect(statuses(responses)).toEqual([200, 200, 429, 429]);
    expect(responses[2]!.headers['ratelimit']).toMatch(/, "short";r=0;t=2, "long";r=1;t=3600$/);
    app.clock.advance({ seconds: 1.5 });
    const third = await search();
    expect(third.status).toBe(200);
    expect(third.headers['ratelimit-policy']).toMatch(/, "short";q=2;w=2, "long";q=3;w=3600$/);
    const rejected = await search();
    expectError(rejected, 429, 'rate_limit_exceeded');
    expect(shown(rejected).slice(0, 2)).toEqual([3, 0]);
    app.clock.advance({ seconds: 1.5 });
    expectError(await search(), 429, 'rate_limit_exceeded');
  });

  it('of a controller applies to each of its routes separately, also if another controller has its name; a method overrides its options by name', async () => {
    expect(statuses(await times(4, () => get('cats/first')))).toEqual([200, 200, 200, 429]);
    const [, second] = await times(2, () => get('cats/second'));
    expect(second!.status).toBe(429);
    expect(second!.headers['ratelimit-policy']).toMatch(/, "default";q=1;w=60, "long";q=9;w=3600$/);
    expect((await get('dogs/first')).status).toBe(200);
  });

  it('counts a request that it rejects in the windows of the plan, and one with a key that is rejected later', async () => {
    const own = await app.createKey({ choice: FREE });
    await times(8, () => book({ key: own.key }));
    expect(shown(await get('slots', { key: own.key }))[1]).toBe(60 - 9);
    for (const options of [{ key: undefined }, { body: '{' }]) await book(options);
    expect(shown(await book())[1]).toBe(3);
  });

  it('never bans a key, and does not hide a 429 of the plan', async () => {
    const choice = { plan: 'enterprise', perMinute: 8, perDay: 100 } as const;
    const own = await app.createKey({ choice });
    for (let at = 0; at < 8; at += 1) {
      await book({ key: own.key });
      app.clock.advance({ seconds: 2 });
    }
    const rejected = await book({ key: own.key });
    expectError(rejected, 429, 'rate_limit_exceeded');
    expect(shown(rejected).slice(0, 2)).toEqual([8, 0]);
  });

  it('counts on a public route by address, with or without a key', async () => {
    const [first, second, third] = [
      await get('slots/open'),
      await get('slots/open', { key: undefined }),
      await get('slots/open'),
    ];
    expect(statuses([first, second, third])).toEqual([200, 200, 429]);
    expect(first.headers['ratelimit-policy']).toBe('"minute";q=1000;w=60, "default";q=2;w=60');
  });

  describe('with the other options of the library', () => {
    const train = (path: string, headers: Record<string, string> = {}, by = key) =>
      get(`trains/${path}`, { key: by, headers });

    it('@SkipThrottle skips its windows, and never those of the plan', async () => {
      const { key: free } = await app.createKey({ choice: FREE });
      const responses = await times(61, () => train('skipped', {}, free));
      expect(responses[59]!.headers['ratelimit-policy']).toBe('"minute";q=60;w=60, "day";q=1000;w=86400');
      expect(statuses(responses.slice(59))).toEqual([200, 429]);
    });

    it('takes limit and ttl from functions, for each request', async () => {
      const { key: free } = await app.createKey({ choice: FREE });
      const seconds = { 'x-seconds': '7' };
      const [first, second] = await times(2, () => train('by-plan', seconds, free));
      expectError(second!, 429, 'rate_limit_exceeded');
      expect(first!.headers['ratelimit-policy']).toMatch(/, "default";q=1;w=7$/);
      expect(statuses(await times(4, () => train('by-plan', seconds)))).toEqual([200, 200, 200, 429]);
      app.clock.advance({ seconds: 7 });
      expect((await train('by-plan', seconds)).status).toBe(200);
    });

    it('rounds a limit from a function down: 0 rejects, a large one is the maximum, Infinity adds no window, NaN causes a 500', async () => {
      const limited = (limit: string) => train('by-header', { 'x-limit': limit });
      for (const limit of ['0.9', '0', '-1', '-Infinity']) {
        const rejected = await limited(limit);
        expectError(rejected, 429, 'rate_limit_exceeded');
        expect(shown(rejected).slice(0, 2)).toEqual([1, 0]);
      }
      expect((await limited('1e99')).headers['ratelimit']).toContain('"default";r=999999999;t=60');
      expect((await limited('Infinity')).headers['ratelimit']).not.toContain('default');
      expect(statuses([await limited('2.5'), await limited('2.5'), await limited('many')])).toEqual([
        200, 429, 500,
      ]);
    });

    it('counts by its getTracker for all accounts, for any text that it returns', async () => {
      const { key: other } = await app.createKey();
      for (const carriage of ['one', 'two', '%00', 'x'.repeat(9_000)]) {
        const count = (by: string) => train('tracked', { 'x-carriage': carriage }, by);
        expect(statuses([await count(key), await count(other), await count(key)])).toEqual([200, 200, 429]);
      }
      await app.restart();
      expect((await train('tracked', { 'x-carriage': 'x'.repeat(9_000) })).status).toBe(429);
    });

    it('counts by its generateKey for several routes, apart from the plan, although the key is that of the plan', async () => {
      const [one, other, third] = [await train('one'), await train('other'), await train('one')];
      expect(statuses([one, other, third])).toEqual([200, 200, 429]);
      expect(third.headers['ratelimit']).toMatch(/^"minute";r=997;.*"default";r=0;/);
    });

    it('counts for a ThrottlerGuard of the route in the same store, by address', async () => {
      const { key: other } = await app.createKey();
      const guarded = await times(2, () => train('guarded'));
      expect(statuses([...guarded, await train('guarded', {}, other)])).toEqual([200, 200, 429]);
      expect(shown(guarded[1]!).slice(0, 2)).toEqual([2, 0]);
      app.clock.advance({ seconds: 60 });
      expect((await train('guarded', {}, other)).status).toBe(200);
    });

    it('names only the windows in the document that are the same for each account', async () => {
      const { json: document } = await app.get('/openapi.json');
      const limitOf = (path: string) => document.paths[`/${path}`].get['x-throttle'];
      expect(limitOf('slots/own')).toEqual([{ limit: 2, ttl: 60_000 }]);
      for (const path of ['skipped', 'by-plan', 'by-header', 'tracked', 'one'])
        expect(limitOf(`trains/${path}`)).toBeUndefined();
    });
  });

  it('has headers that match the document, however long its names and numbers are', async () => {
    const { headers } = await get('slots/longest', { key: await app.unlimitedKey() });
    for (const name of ['RateLimit-Policy', 'RateLimit']) {
      const { pattern, maxLength }: any = COMMON_HEADERS[name]!.schema;
      expect(headers[name.toLowerCase()]).toMatch(new RegExp(pattern));
      expect(String(headers[name.toLowerCase()]).length).toBeLessThanOrEqual(maxLength);
    }
  });

  it('has one decision for each request in the metrics, and a log line for the first 429 of a minute', async () => {
    const { id, key: own } = await app.createKey();
    const decisions = async () => {
      const metrics = await scrape(app);
      const series = 'animal_store_rate_limit_decisions_total{plan="business",verdict=';
      return ['admitted', 'limited'].map((verdict) => valueOf(metrics, `${series}"${verdict}"}`) ?? 0);
    };
    const [admitted, limited] = await decisions();
    await times(7, () => book({ key: own }));
    await times(4, () => get('slots/own', { key: own }));
    expect(await decisions()).toEqual([admitted! + 5 + 2, limited! + 2 + 2]);
    const lines = app.log.map((line) => JSON.parse(line)).filter((line) => line.key === id);
    expect(lines.filter(({ status }) => status === 429)).toMatchObject([{ route: '/v1/slots' }]);
  });
});
