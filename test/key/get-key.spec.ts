import { ApiKeysService } from '../../src/accounts';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { withoutTable } from '../support/without-table';

const DAY_SECONDS = 86_400;
const PATH = '/v1/key';
const SMALL = { plan: 'enterprise', perMinute: 2, perDay: 9 } as const;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));

describe('GET /v1/key', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 3, rateLimitBanSeconds: 300, rateLimitAnonymousPerMinute: 5 });
  });
  afterAll(() => app.close());

  const at = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
  const midnight = () => new Date(Math.ceil((app.clock.now() + 1) / 86_400_000) * 86_400_000).toISOString();
  const getKey = (key: string) => app.get(PATH, { key });
  const list = (key: string) => app.get('/v1/pets', { key });

  it('returns the key, its account, what it may do, and how much is left', async () => {
    const expiresAt = at(90 * DAY_SECONDS);
    const { id, key } = await app.createKey({
      account: 'acme',
      choice: { plan: 'free', perMinute: null, perDay: null },
      label: 'shop',
      scopes: ['pets:write', 'orders:read'],
      expiresAt: new Date(expiresAt),
    });
    const [{ created_at: createdAt }] = (await app.database.query<{ created_at: Date }>(
      `SELECT created_at FROM api_keys WHERE id = $1`,
      [id],
    )) as [{ created_at: Date }];
    await app.post('/v1/pets', { name: 'Rex', categoryId: 3 }, { key });
    const { status, json } = await getKey(key);
    expect(status).toBe(200);
    expect(json).toEqual({
      id,
      label: 'shop',
      account: 'acme',
      plan: 'free',
      scopes: ['pets:write', 'orders:read'],
      createdAt: createdAt.toISOString(),
      expiresAt,
      limits: {
        minute: { limit: 60, remaining: 59, resetAt: at(60) },
        day: { limit: 1_000, remaining: 999, resetAt: midnight() },
      },
      strikes: { count: 0, banAfter: 3, bannedUntil: null },
    });
  });

  it('counts in no window, and its headers show those of the account as they stand', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    expect((await getKey(key)).json).toMatchObject({ expiresAt: null, label: '' });
    const first = await list(key);
    app.clock.advance({ seconds: 10 });
    const responses = await Promise.all(Array.from({ length: 5 }, () => getKey(key)));
    for (const response of responses) {
      expect(response.status).toBe(200);
      expect(shown(response)).toEqual(shown(first));
      expect(response.headers['ratelimit-policy']).toBe('"minute";q=2;w=60, "day";q=9;w=86400');
      expect(response.headers['ratelimit']).toMatch(/^"minute";r=1;t=50, "day";r=8;t=\d+$/);
      expect(response.json.limits.minute).toEqual({ limit: 2, remaining: 1, resetAt: at(50) });
    }
    expect(shown(await list(key)).slice(0, 2)).toEqual([2, 0]);
  });

  it('succeeds while the limits are used up, and is never a strike', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    for (const status of [200, 200, 429]) expect((await list(key)).status).toBe(status);
    for (let second = 0; second < 5; second += 1) {
      app.clock.advance({ seconds: 1 });
      const { status, headers, json } = await getKey(key);
      expect(status).toBe(200);
      expect(headers['retry-after']).toBeUndefined();
      expect([json.limits.minute.remaining, json.limits.day.remaining]).toEqual([0, 7]);
      expect(json.strikes).toEqual({ count: 1, banAfter: 3, bannedUntil: null });
    }
    expectError(await list(key), 429, 'rate_limit_exceeded');
  });

  it('shows when the sent secret stops working, after a rotation', async () => {
    const expiresAt = at(DAY_SECONDS);
    const { id, key } = await app.createKey({ expiresAt: new Date(expiresAt) });
    const rotation = app.nest.get(ApiKeysService, { strict: false });
    const { key: newer } = await rotation.rotate(id, 3_600_000);
    app.clock.advance({ seconds: 5 });
    expect((await getKey(key)).json).toMatchObject({ id, expiresAt: at(3_595) });
    expect((await getKey(newer)).json).toMatchObject({ id, expiresAt });
    const { key: newest } = await rotation.rotate(id, 2 * DAY_SECONDS * 1_000);
    app.clock.advance({ seconds: 5 });
    for (const secret of [newer, newest])
      expect((await getKey(secret)).json).toMatchObject({ id, expiresAt });
  });

  it('needs no query for a key seen lately', async () => {
    const { key } = await app.createKey();
    const before = await list(key);
    expect(await withoutTable(app.database, 'api_keys', () => getKey(key))).toMatchObject({
      status: 200,
      json: { limits: { minute: { remaining: 999 } } },
    });
    expect(before.status).toBe(200);
  });

  it('is 401 without a valid key, which counts for the address, and 429 above its limit; a valid key still gets 200', async () => {
    app.clock.advance({ seconds: 60 });
    const { id, key } = await app.createKey();
    for (const left of [4, 3, 2, 1, 0]) {
      const response = await getKey('wrong');
      expectError(response, 401, 'invalid_api_key');
      expect(shown(response).slice(0, 2)).toEqual([5, left]);
    }
    expectError(await getKey('wrong'), 429, 'rate_limit_exceeded');
    expect((await getKey(key)).json).toMatchObject({ id });
  });
});
