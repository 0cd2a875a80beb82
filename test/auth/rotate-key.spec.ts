import { ApiKeysService } from '../../src/accounts';
import { createDemoKey } from '../../src/app/banner';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { lockWaits } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { until } from '../support/until';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describe('changes of keys', () => {
  let app: TestApp;
  beforeAll(async () => {
    const settings = { rateLimitBanAfter: 2 };
    app = await startApp(settings, { database: await createPatientDatabase() });
  });
  afterAll(() => app.close());

  const rotate = (id: string, graceMs: number) =>
    app.nest.get(ApiKeysService, { strict: false }).rotate(id, graceMs);

  describe('rotating a key', () => {
    const statusOf = async (key: string) => (await app.get('/v1/pets', { key })).status;
    const inMs = (ms: number) => new Date(app.clock.now() + ms);

    it('keeps id, account, scopes, label, expiry and prefix of the key; the last four are those of the new secret', async () => {
      const { id, key } = await app.createKey({
        scopes: ['pets:read'],
        label: 'till',
        expiresAt: inMs(DAY_MS),
      });
      const keys = app.nest.get(ApiKeysService, { strict: false });
      const listed = () => keys.get(id);
      const before = await listed();
      const { key: newer, ...facts } = await rotate(id, MINUTE_MS);
      expect(newer).toMatch(/^ask_test_[0-9A-Za-z]{36}$/);
      expect(newer).not.toBe(key);
      expect(facts).toEqual({
        id,
        account: before?.account,
        plan: 'business',
        scopes: ['pets:read'],
        expiresAt: before?.expiresAt,
        graceEndsAt: inMs(MINUTE_MS),
      });
      expect(await listed()).toEqual({ ...before, lastFour: newer.slice(-4) });
      expect((await app.post('/v1/pets', {}, { key: newer })).status).toBe(403);
    });

    it('401 revoked_api_key for an old secret after its grace period, every time, and after the expiry of the key', async () => {
      const { id, key } = await app.createKey({ expiresAt: inMs(DAY_MS) });
      await rotate(id, MINUTE_MS);
      app.clock.advance({ seconds: 59 });
      expect(await statusOf(key)).toBe(200);
      app.clock.advance({ seconds: 1 });
      for (const seconds of [0, 5, 86_400]) {
        app.clock.advance({ seconds });
        const response = await app.get('/v1/pets', { key });
        expectError(response, 401, 'revoked_api_key');
        expect(response.headers['www-authenticate']).toMatch(
          /error="invalid_token", error_description="[^"]+"$/,
        );
      }
    });

    it('never extends the expiry: both secrets expire with the key, even in the grace period', async () => {
      const { id, key } = await app.createKey({ expiresAt: inMs(MINUTE_MS) });
      const { key: newer, graceEndsAt } = await rotate(id, 7 * DAY_MS);
      expect(graceEndsAt).toEqual(inMs(MINUTE_MS));
      app.clock.advance({ seconds: 60 });
      expectError(await app.get('/v1/pets', { key }), 401, 'expired_api_key');
      expectError(await app.get('/v1/pets', { key: newer }), 401, 'expired_api_key');
      await expect(rotate(id, 0)).rejects.toThrow(/has expired/);
    });

    it('a later expiry of the key does not extend the grace period', async () => {
      const { id, key } = await app.createKey({ expiresAt: inMs(MINUTE_MS) });
      const { key: newer } = await rotate(id, DAY_MS);
      // Another test removes the account of the service's own key.
      const change = { body: { expiresAt: null }, key: (await app.createKey()).key };
      const { status } = await app.send('PATCH', `/v1/keys/${id}`, change);
      expect([status, await statusOf(key), await statusOf(newer)]).toEqual([200, 200, 200]);
      app.clock.advance({ seconds: 60 });
      expectError(await app.get('/v1/pets', { key }), 401, 'revoked_api_key');
      expect(await statusOf(newer)).toBe(200);
    });

    it('a second rotation does not extend the grace period of the first secret', async () => {
      const { id, key: first } = await app.createKey();
      const { key: second } = await rotate(id, MINUTE_MS);
      app.clock.advance({ seconds: 30 });
      const { key: third } = await rotate(id, DAY_MS);
      expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([200, 200, 200]);
      app.clock.advance({ seconds: 30 });
      expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([401, 200, 200]);
    });

    it('after a rotation without a grace period only the new secret works; running grace periods end', async () => {
      const { id, key: first } = await app.createKey();
      const { key: second } = await rotate(id, DAY_MS);
      const { key: third } = await rotate(id, 0);
      expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([401, 401, 200]);
    });

    it('every secret of concurrent rotations works in the grace period, and only the last one after it', async () => {
      const { id, key } = await app.createKey();
      const rotated = await Promise.all(Array.from({ length: 5 }, () => rotate(id, MINUTE_MS)));
      const secrets = [key, ...rotated.map((each) => each.key)];
      for (const secret of secrets) expect(await statusOf(secret)).toBe(200);
      app.clock.advance({ seconds: 60 });
      const statuses = await Promise.all(secrets.map(statusOf));
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    });

    it('both secrets share the windows and bans of the key', async () => {
      const choice = { plan: 'enterprise', perMinute: 2, perDay: 100 } as const;
      const { id, key } = await app.createKey({ choice });
      const { key: newer } = await rotate(id, DAY_MS);
      const remaining = async (secret: string) =>
        (await app.get('/v1/pets', { key: secret })).headers['x-ratelimit-remaining'];
      expect([await remaining(key), await remaining(newer)]).toEqual(['1', '0']);
      expectError(await app.get('/v1/pets', { key }), 429, 'rate_limit_exceeded');
      // The strikes of both secrets are those of the key.
      app.clock.advance({ seconds: 1 });
      expectError(await app.get('/v1/pets', { key: newer }), 429, 'api_key_banned');
      expectError(await app.get('/v1/pets', { key }), 429, 'api_key_banned');
    });
  });

  describe('two instances on one database', () => {
    let second: TestApp;
    beforeAll(async () => {
      second = await startApp({ rateLimitBanAfter: 2 }, { beside: app });
    });
    afterAll(() => second.close());

    /** Sends the key to both, which then cache it for 4 s. @returns 200 or the error code, for each instance */
    async function verdicts(key: string): Promise<unknown[]> {
      const responses = await Promise.all([app.get('/v1/pets', { key }), second.get('/v1/pets', { key })]);
      return responses.map(({ status, json }) => (status === 200 ? status : json.code));
    }
    const BOTH_ADMIT = [200, 200];
    const BOTH_REJECT = ['revoked_api_key', 'revoked_api_key'];

    it('a revocation applies on both within 5 s, for every secret of the key', async () => {
      const { id, key } = await app.createKey();
      const { key: newer } = await rotate(id, MINUTE_MS);
      expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_ADMIT, BOTH_ADMIT]);
      await app.nest.get(ApiKeysService, { strict: false }).revoke(id);
      app.clock.advance({ seconds: 5 });
      expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REJECT, BOTH_REJECT]);
    });

    it('the new secret of a rotation works on both immediately; the old one works until the grace period ends', async () => {
      const { id, key } = await app.createKey();
      expect(await verdicts(key)).toEqual(BOTH_ADMIT);
      const { key: newer } = await rotate(id, MINUTE_MS);
      expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_ADMIT, BOTH_ADMIT]);
      app.clock.advance({ seconds: 59 });
      expect(await verdicts(key)).toEqual(BOTH_ADMIT);
      // Both cached the old secret one second ago: the cache must not extend the grace period.
      app.clock.advance({ seconds: 1 });
      expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REJECT, BOTH_ADMIT]);
    });

    it('two concurrent first starts create one demo key', async () => {
      await app.database.truncate('accounts CASCADE');
      await app.database.query('BEGIN');
      await app.database.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
      const starts = [app, second].map(({ nest }) => createDemoKey(nest, readConfig({}), createStore()));
      // Each of them waits with what it has seen so far.
      try {
        await until(async () => (await lockWaits(app.database)).length === starts.length);
      } finally {
        await app.database.query('COMMIT');
      }
      const keys = (await Promise.all(starts)).filter((key) => key !== undefined);
      expect(keys).toHaveLength(1);
      expect(await app.database.query('SELECT label FROM api_keys')).toEqual([{ label: 'first start' }]);
      expect((await app.get('/v1/pets', { key: keys[0] })).status).toBe(200);
    });
  });
});
