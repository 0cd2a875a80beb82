import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse, RequestOptions } from '../support/http';
import { ThrottledModule } from './support/throttled.module';

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

  const book = (options: RequestOptions = {}) => app.post('/v1/slots', '{}', { key, ...options });
  const get = (path: string, options: RequestOptions = {}) => app.get(`/v1/${path}`, { key, ...options });
  async function times(count: number, request: () => Promise<HttpResponse>): Promise<HttpResponse[]> {
    const responses: HttpResponse[] = [];
    for (let at = 0; at < count; at += 1) responses.push(await request());
    return responses;
  }

  it('rejects with rate_limit_exceeded and Retry-After until its window ends, and the headers show those of the plan', async () => {
    await times(5, book);
    app.clock.advance({ seconds: 600 });
    const rejected = await book();
    expectError(rejected, 429, 'rate_limit_exceeded');
    expect(rejected.json.message).toMatch(/^The requests of this operation are used up\./);
    expect(rejected.headers['retry-after']).toBe('3000');
    app.clock.advance({ seconds: 3_000 });
    expect((await book()).status).toBe(201);
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

  it('of a controller applies to each of its routes separately; a method overrides its options by name', async () => {
    expect(statuses(await times(4, () => get('cats/first')))).toEqual([200, 200, 200, 429]);
    expect(statuses(await times(2, () => get('cats/second')))).toEqual([200, 429]);
  });

  it('counts a request that it rejects in the windows of the plan, and one with a key that is rejected later', async () => {
    const own = await app.createKey({ choice: FREE });
    await times(8, () => book({ key: own.key }));
    expect(shown(await get('slots', { key: own.key }))[1]).toBe(60 - 9);
    for (const options of [{ key: undefined }, { body: '{' }]) await book(options);
    expect(statuses(await times(5, book))).toEqual([201, 201, 201, 201, 429]);
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
  });

  describe('with the other options of the library', () => {
    const train = (path: string, headers: Record<string, string> = {}, by = key) =>
      get(`trains/${path}`, { key: by, headers });

    it('@SkipThrottle skips its windows, and never those of the plan', async () => {
      const { key: free } = await app.createKey({ choice: FREE });
      const responses = await times(61, () => train('skipped', {}, free));
      expect(statuses(responses.slice(59))).toEqual([200, 429]);
    });

    it('takes limit and ttl from functions, for each request', async () => {
      const { key: free } = await app.createKey({ choice: FREE });
      const seconds = { 'x-seconds': '7' };
      const [, second] = await times(2, () => train('by-plan', seconds, free));
      expectError(second!, 429, 'rate_limit_exceeded');
      expect(second!.headers['retry-after']).toBe('7');
      expect(statuses(await times(4, () => train('by-plan', seconds)))).toEqual([200, 200, 200, 429]);
      app.clock.advance({ seconds: 7 });
      expect((await train('by-plan', seconds)).status).toBe(200);
    });

    it('rounds a limit from a function down: 0.9 rejects, Infinity admits', async () => {
      const found = [];
      for (const limit of ['0.9', 'Infinity', '2.5', '2.5'])
        found.push((await train('by-header', { 'x-limit': limit })).status);
      expect(found).toEqual([429, 200, 200, 429]);
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
      expect(shown(third)[1]).toBe(997);
    });

    it('counts for a ThrottlerGuard of the route in the same store, by address', async () => {
      const { key: other } = await app.createKey();
      const guarded = await times(2, () => train('guarded'));
      expect(statuses([...guarded, await train('guarded', {}, other)])).toEqual([200, 200, 429]);
      app.clock.advance({ seconds: 60 });
      expect((await train('guarded', {}, other)).status).toBe(200);
      // A route without a limit has none in this guard, either.
      expect(statuses(await times(3, () => get('slots/guarded')))).toEqual([200, 200, 200]);
    });
  });
});
