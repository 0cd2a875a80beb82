import { createDemoKey } from '../../src/app/banner';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/config/config';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { lockWaits } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { until } from '../support/until';

const DAY = 86_400;

/** Steps of a key, and the statuses or codes of its secrets after them, the oldest first. Numbers are seconds. */
const HISTORIES: [promise: string, history: string][] = [
  [
    'an old secret works until its grace period ends',
    '200; rotate 60; 200 200; wait 59; 200 200; wait 1; revoked 200; wait 5; revoked 200',
  ],
  [
    'an old secret stays revoked after the expiry of the key',
    `expire ${DAY}; rotate 60; wait 60; revoked 200; wait ${DAY}; revoked expired`,
  ],
  [
    'both secrets expire with the key, even in the grace period',
    `expire 60; rotate ${7 * DAY}; 200 200; wait 60; expired expired; not usable`,
  ],
  [
    'a later expiry of the key does not extend the grace period',
    `expire 60; rotate ${DAY}; extend; 200 200; wait 60; revoked 200`,
  ],
  [
    'a second rotation does not extend the grace period of the first secret',
    `rotate 60; wait 30; rotate ${DAY}; 200 200 200; wait 30; revoked 200 200`,
  ],
  [
    'after a rotation without a grace period only the new secret works',
    `rotate ${DAY}; rotate 0; revoked revoked 200`,
  ],
  ['a revocation applies to every secret within 5 s', 'rotate 60; 200 200; revoke; wait 5; revoked revoked'],
];

describe('a key on two instances', () => {
  let app: TestApp;
  let second: TestApp;
  /** Of each test its own: one test deletes all accounts. */
  let admin: string;
  beforeAll(async () => {
    const settings = { rateLimitBanAfter: 2 };
    app = await startApp(settings, { database: await createPatientDatabase() });
    second = await startApp(settings, { beside: app });
  });
  beforeEach(async () => (admin = await app.unlimitedKey()));
  afterAll(async () => {
    await second.close();
    await app.close();
  });

  const inSeconds = (seconds: number) => new Date(app.clock.now() + seconds * 1_000);
  const send = (method: string, path: string, body?: object) =>
    app.send(method, `/v1/keys/${path}`, { key: admin, body });
  const rotate = (id: string, graceSeconds: number) => send('POST', `${id}/rotate`, { graceSeconds });
  const verdict = async (by: TestApp, key: string) => {
    const { status, headers, json } = await by.get('/v1/pets?limit=1', { key });
    if (status === 200) return '200';
    expect(headers['www-authenticate']).toMatch(/error="invalid_token", error_description="[^"]+"$/);
    return json.code.replace('_api_key', '');
  };

  it.each(HISTORIES)('%s: %s', async (_promise, history) => {
    const { id, key } = await app.createKey();
    const secrets = [key];
    const [seen, wanted]: [string[], string[]] = [[], []];
    let expiry = Infinity;
    const change = async (expiresAt: Date | null) => {
      expect((await send('PATCH', id, { expiresAt })).status).toBe(200);
      expiry = expiresAt?.getTime() ?? Infinity;
    };
    for (const step of history.split('; ')) {
      const [action, number] = step.split(' ');
      const seconds = Number(number);
      if (action === 'wait') app.clock.advance({ seconds });
      else if (action === 'expire') await change(inSeconds(seconds));
      else if (action === 'extend') await change(null);
      else if (action === 'revoke') await send('DELETE', id);
      else if (action === 'not') expectError(await rotate(id, 0), 409, 'key_not_usable');
      else if (action === 'rotate') {
        const { json } = await rotate(id, seconds);
        const end = Math.min(inSeconds(seconds).getTime(), expiry);
        seen.push(json.graceEndsAt);
        wanted.push(new Date(end).toISOString());
        secrets.push(json.key);
      } else
        for (const each of [app, second]) {
          seen.push((await Promise.all(secrets.map((secret) => verdict(each, secret)))).join(' '));
          wanted.push(step);
        }
    }
    expect(seen).toEqual(wanted);
  });

  it('changes only the secret and its last four characters', async () => {
    const { id } = await app.createKey({ scopes: ['pets:read'], label: 'till', expiresAt: inSeconds(DAY) });
    const read = async () => (await send('GET', id)).json;
    const before = await read();
    const { key } = (await rotate(id, 60)).json;
    expect(key).toMatch(/^ask_test_[0-9A-Za-z]{36}$/);
    expect(await read()).toEqual({ ...before, lastFour: key.slice(-4) });
  });

  it('every secret of concurrent rotations works in the grace period, and only the last one after it', async () => {
    const { id, key } = await app.createKey();
    const rotated = await Promise.all(Array.from({ length: 5 }, () => rotate(id, 60)));
    const secrets = [key, ...rotated.map(({ json }) => json.key)];
    const admitted = async () => {
      const verdicts = await Promise.all(secrets.map((secret) => verdict(app, secret)));
      return verdicts.filter((each) => each === '200').length;
    };
    expect(await admitted()).toBe(6);
    app.clock.advance({ seconds: 60 });
    expect(await admitted()).toBe(1);
  });

  it('both secrets share the windows and bans of the key', async () => {
    const choice = { plan: 'enterprise', perMinute: 2, perDay: 100 } as const;
    const { id, key } = await app.createKey({ choice });
    const newer = (await rotate(id, DAY)).json.key;
    const remaining = async (secret: string) =>
      (await app.get('/v1/pets', { key: secret })).headers['x-ratelimit-remaining'];
    expect([await remaining(key), await remaining(newer)]).toEqual(['1', '0']);
    expectError(await app.get('/v1/pets', { key }), 429, 'rate_limit_exceeded');
    // The strikes of both secrets are those of the key.
    app.clock.advance({ seconds: 1 });
    expectError(await app.get('/v1/pets', { key: newer }), 429, 'api_key_banned');
    expectError(await app.get('/v1/pets', { key }), 429, 'api_key_banned');
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
