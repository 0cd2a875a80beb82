import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { withoutTable } from '../support/without-table';

const DAY_SECONDS = 86_400;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));

describe('GET /v1/key', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 3, rateLimitBanSeconds: 300 });
  });
  afterAll(() => app.close());

  const at = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
  const midnight = () => new Date(Math.ceil((app.clock.now() + 1) / 86_400_000) * 86_400_000).toISOString();
  const getKey = (key: string) => app.get('/v1/key', { key });
  const list = (key: string) => app.get('/v1/pets', { key });

  it('returns the key, its account, what it may do, and how much is left; a key seen lately needs no query', async () => {
    const expiresAt = at(90 * DAY_SECONDS);
    const scopes = ['pets:write', 'orders:read'];
    await app.post('/v1/accounts', { name: 'acme' });
    const created = await app.post('/v1/accounts/acme/keys', { label: 'shop', scopes, expiresAt });
    const { id, key, createdAt } = created.json;
    await app.post('/v1/pets', { name: 'Rex', categoryId: 3 }, { key });
    const { status, json } = await withoutTable(app.database, 'api_keys', () => getKey(key));
    expect(status).toBe(200);
    expect(json).toEqual({
      id,
      label: 'shop',
      account: 'acme',
      plan: 'free',
      scopes,
      createdAt,
      expiresAt,
      limits: {
        minute: { limit: 60, remaining: 59, resetAt: at(60) },
        day: { limit: 1_000, remaining: 999, resetAt: midnight() },
      },
      strikes: { count: 0, banAfter: 3, bannedUntil: null },
    });
  });

  it('counts in no window and is never a strike; its headers show the windows as they stand', async () => {
    const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 2, perDay: 9 } });
    expect((await getKey(key)).json).toMatchObject({ expiresAt: null, label: '' });
    const first = await list(key);
    app.clock.advance({ seconds: 10 });
    for (const response of await Promise.all(Array.from({ length: 5 }, () => getKey(key)))) {
      expect([response.status, shown(response)]).toEqual([200, shown(first)]);
      expect(response.headers['ratelimit-policy']).toBe('"minute";q=2;w=60, "day";q=9;w=86400');
      expect(response.headers['ratelimit']).toMatch(/^"minute";r=1;t=50, "day";r=8;t=\d+$/);
      expect(response.json.limits.minute).toEqual({ limit: 2, remaining: 1, resetAt: at(50) });
    }
    for (const status of [200, 429]) expect((await list(key)).status).toBe(status);
    for (let second = 0; second < 5; second += 1) {
      app.clock.advance({ seconds: 1 });
      const { status, headers, json } = await getKey(key);
      expect([status, headers['retry-after']]).toEqual([200, undefined]);
      expect([json.limits.minute.remaining, json.limits.day.remaining]).toEqual([0, 7]);
      expect(json.strikes).toEqual({ count: 1, banAfter: 3, bannedUntil: null });
    }
    expectError(await list(key), 429, 'rate_limit_exceeded');
  });

  it('shows when the sent secret stops working, after a rotation', async () => {
    const expiresAt = at(DAY_SECONDS);
    const { id, key } = await app.createKey({ expiresAt: new Date(expiresAt) });
    const rotate = async (graceSeconds: number): Promise<string> => {
      const { json } = await app.post(`/v1/keys/${id}/rotate`, { graceSeconds });
      app.clock.advance({ seconds: 5 });
      return json.key;
    };
    const newer = await rotate(3_600);
    expect((await getKey(key)).json).toMatchObject({ id, expiresAt: at(3_595) });
    expect((await getKey(newer)).json).toMatchObject({ id, expiresAt });
    for (const secret of [newer, await rotate(2 * DAY_SECONDS)])
      expect((await getKey(secret)).json).toMatchObject({ id, expiresAt });
  });
});
