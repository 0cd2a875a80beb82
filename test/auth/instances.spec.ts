import { AccountsService, ApiKeysService, KeyRotationService } from '../../src/accounts';
import { createDemoKey } from '../../src/app/create-demo-key';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import { startApp, type TestApp } from '../support/app';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';

const MINUTE_MS = 60_000;

describe('two instances on one database', () => {
  let app: TestApp;
  let second: TestApp;
  beforeAll(async () => {
    app = await startApp();
    second = await startApp({}, { beside: app });
  });
  afterAll(async () => {
    await second.close();
    await app.close();
  });

  /** Sends the key to both, which then cache it for 4 s. @returns 200 or the error code, for each instance */
  async function verdicts(key: string): Promise<unknown[]> {
    const responses = await Promise.all([app.get('/v1/pets', { key }), second.get('/v1/pets', { key })]);
    return responses.map(({ status, json }) => (status === 200 ? status : json.code));
  }
  const BOTH_ADMIT = [200, 200];
  const BOTH_REJECT = ['revoked_api_key', 'revoked_api_key'];
  const rotate = (id: string, graceMs: number) =>
    app.nest.get(KeyRotationService, { strict: false }).rotate(id, graceMs);

  it('two concurrent first starts create one demo key', async () => {
    await app.database.query('TRUNCATE accounts CASCADE');
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

  it('a revocation applies on both within 5 s, for every secret of the key', async () => {
    const { id, key } = await app.createKey();
    const { key: newer } = await rotate(id, MINUTE_MS);
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_ADMIT, BOTH_ADMIT]);
    await app.nest.get(ApiKeysService, { strict: false }).revoke(id);
    app.clock.advance({ seconds: 5 });
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REJECT, BOTH_REJECT]);
  });

  it('a change of scopes applies on both within 5 s', async () => {
    const { id, key } = await app.createKey();
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
    await app.nest.get(ApiKeysService, { strict: false }).setScopes(id, ['orders:read']);
    app.clock.advance({ seconds: 5 });
    expect(await verdicts(key)).toEqual(['insufficient_scope', 'insufficient_scope']);
    await app.nest.get(ApiKeysService, { strict: false }).setScopes(id, ['pets:read', 'orders:read']);
    app.clock.advance({ seconds: 5 });
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
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

  it('a rotation without a grace period ends the old secret on both within 5 s', async () => {
    const { id, key } = await app.createKey();
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
    const { key: newer } = await rotate(id, 0);
    app.clock.advance({ seconds: 5 });
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REJECT, BOTH_ADMIT]);
  });

  it('a change of plan applies on both within 5 s; counted requests stay counted', async () => {
    const choice = { plan: 'free', perMinute: null, perDay: null } as const;
    const { key } = await app.createKey({ account: 'grows', choice });
    const minutes = async () =>
      (await Promise.all([app.get('/v1/pets', { key }), second.get('/v1/pets', { key })])).map(
        ({ headers }) => [headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']],
      );
    expect(await minutes()).toEqual([
      ['60', '59'],
      ['60', '59'],
    ]);
    await app.nest.get(AccountsService, { strict: false }).setPlan('grows', { ...choice, plan: 'pro' });
    app.clock.advance({ seconds: 5 });
    expect(await minutes()).toEqual([
      ['300', '298'],
      ['300', '298'],
    ]);
  });
});
