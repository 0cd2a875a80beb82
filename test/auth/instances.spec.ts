import { AccountsService, ApiKeysService, KeyRotationService } from '../../src/auth';
import { firstKey } from '../../src/banner';
import { readConfig } from '../../src/config/config';
import { startApp, type TestApp } from '../support/app';
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

  /** What both say to a key, which they thereby know for the next 4 s: the status, and the code of a refusal. */
  async function verdicts(key: string): Promise<unknown[]> {
    const answers = await Promise.all([app.get('/v1/pets', { key }), second.get('/v1/pets', { key })]);
    return answers.map(({ status, json }) => (status === 200 ? status : json.code));
  }
  const BOTH_ADMIT = [200, 200];
  const BOTH_REFUSE = ['revoked_api_key', 'revoked_api_key'];
  const rotate = (id: string, graceMs: number) =>
    app.nest.get(KeyRotationService, { strict: false }).rotate(id, graceMs);

  it('two first starts at the same time make one demo key', async () => {
    await app.database.query('TRUNCATE accounts CASCADE');
    await app.database.query('BEGIN');
    await app.database.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
    const starts = [app, second].map(({ nest }) => firstKey(nest, readConfig({})));
    // Each of them waits with what it has seen so far.
    try {
      await until(async () => (await app.database.query(WAITING)).length === starts.length);
    } finally {
      await app.database.query('COMMIT');
    }
    const keys = (await Promise.all(starts)).filter((key) => key !== undefined);
    expect(keys).toHaveLength(1);
    expect(await app.database.query('SELECT label FROM api_keys')).toEqual([{ label: 'first start' }]);
    expect((await app.get('/v1/pets', { key: keys[0] })).status).toBe(200);
  });

  it('a revocation is in force on both within 5 s, for every secret of the key', async () => {
    const { id, key } = await app.createKey();
    const { key: newer } = await rotate(id, MINUTE_MS);
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_ADMIT, BOTH_ADMIT]);
    await app.nest.get(ApiKeysService, { strict: false }).revoke(id);
    app.clock.advance({ seconds: 5 });
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REFUSE, BOTH_REFUSE]);
  });

  it('a change of scopes is in force on both within 5 s', async () => {
    const { id, key } = await app.createKey();
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
    await app.nest.get(ApiKeysService, { strict: false }).setScopes(id, ['orders:read']);
    app.clock.advance({ seconds: 5 });
    expect(await verdicts(key)).toEqual(['insufficient_scope', 'insufficient_scope']);
    await app.nest.get(ApiKeysService, { strict: false }).setScopes(id, ['pets:read', 'orders:read']);
    app.clock.advance({ seconds: 5 });
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
  });

  it('a rotation gives a secret that works on both at once; the old one works until its grace ends, then on neither', async () => {
    const { id, key } = await app.createKey();
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
    const { key: newer } = await rotate(id, MINUTE_MS);
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_ADMIT, BOTH_ADMIT]);
    app.clock.advance({ seconds: 59 });
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
    // Both have asked for the old secret a second ago: the cache must not stretch the grace.
    app.clock.advance({ seconds: 1 });
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REFUSE, BOTH_ADMIT]);
  });

  it('a rotation without grace ends the old secret on both within 5 s', async () => {
    const { id, key } = await app.createKey();
    expect(await verdicts(key)).toEqual(BOTH_ADMIT);
    const { key: newer } = await rotate(id, 0);
    app.clock.advance({ seconds: 5 });
    expect([await verdicts(key), await verdicts(newer)]).toEqual([BOTH_REFUSE, BOTH_ADMIT]);
  });

  it('a change of plan is in force on both within 5 s; what was used stays used', async () => {
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

/** The sessions of this database that wait for a lock. */
const WAITING = `
  SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
  WHERE d.datname = current_database() AND NOT l.granted`;
