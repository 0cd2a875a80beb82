import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { RateLimitStore } from '../../src/rate-limit';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { lockWaits } from '../support/lock-waits';
import { createPatientDatabase } from '../support/patience';
import { holdTimers, pass, passUntil } from '../support/timers';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';
import { ThrottledModule } from './support/throttled.module';

const DAY_SECONDS = 86_400;

/** More than one statement saves. */
const OWNERS = 5_001;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
const day = ({ headers }: HttpResponse) => Number(/"day";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);

describe('counters without Redis', () => {
  let app: TestApp;
  let key: string;
  let id: string;
  beforeAll(async () => {
    holdTimers();
    const bans = { rateLimitBanAfter: 1, rateLimitBanSeconds: 2 * DAY_SECONDS };
    const settings = { ...bans, rateLimitAnonymousPerMinute: 100, trustProxy: ['127.0.0.1'] };
    app = await startApp(settings, { modules: [ThrottledModule], database: await createPatientDatabase() });
  });
  beforeEach(async () => void ({ key, id } = await app.createKey()));
  afterEach(() => app.database.query('COMMIT'));
  afterAll(async () => {
    await app.close();
    jest.useRealTimers();
  });

  const get = (by = key) => app.get('/v1/pets', { key: by });
  const from = (address: string) =>
    app.get('/v1/pets', { key: undefined, headers: { 'x-forwarded-for': address } });
  /** The counts of the account's minute that the database has. */
  const saved = async () => {
    const rows = await app.database.query<{ used: number }>(
      `SELECT minute_used AS used FROM rate_limit_counters
       WHERE owner = (SELECT 'account:' || account_id FROM api_keys WHERE id = $1)`,
      [id],
    );
    return rows.map(({ used }) => used);
  };
  const lock = () => app.database.query('BEGIN; LOCK TABLE rate_limit_counters');
  const waiting = () => lockWaits(app.database);
  const owners = (pattern: string) =>
    app.database.query('SELECT owner FROM rate_limit_counters WHERE owner ~ $1', [pattern]);

  it('survive a clean stop on a later day, for thousands of owners, routes and any address; so do last uses and long bans', async () => {
    const { key: greedy } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } });
    for (let at = 0; at < 2; at += 1) await get(greedy);
    app.clock.advance({ seconds: DAY_SECONDS + 1 });
    for (let at = 0; at < 3; at += 1) await from('192.0.2.1');
    await from(randomBytes(4_500).toString('base64'));
    for (let at = 0; at < 5; at += 1) await app.post('/v1/slots', '{}', { key });
    const store = app.nest.get(RateLimitStore, { strict: false });
    for (let at = 0; at < OWNERS; at += 1) await store.take(`ip:${at}`, { perMinute: 1 });
    const before = await get();
    await app.restart();
    const after = await get();
    expect(shown(after)).toEqual([1_000, shown(before)[1]! - 1, shown(before)[2]]);
    expect(day(after)).toBe(day(before) - 1);
    expect(shown(await from('192.0.2.1'))[1]).toBe(96);
    expectError(await app.post('/v1/slots', '{}', { key }), 429, 'rate_limit_exceeded');
    expect(await owners(String.raw`^ip:\d+$`)).toHaveLength(OWNERS);
    expectError(await get(greedy), 429, 'api_key_banned');
    const { lastUsedAt } = (await app.get(`/v1/keys/${id}`)).json;
    expect(Date.parse(lastUsedAt)).toBe(Math.floor(app.clock.now() / 60_000) * 60_000);
  });

  it('are written within a second of the request, so that a crash loses no more', async () => {
    app.clock.advance({ seconds: 77 });
    await get();
    pass({ seconds: 1 });
    await until(async () => (await saved())[0] === 1);
    // An instance that ends during an update may have saved more of the same day.
    await app.database.query('UPDATE rate_limit_counters SET day_used = 700');
    await get();
    pass({ seconds: 1 });
    await until(async () => (await saved())[0] === 2);
    expect(await app.database.query('SELECT FROM rate_limit_counters WHERE day_used < 700')).toEqual([]);
  });

  it('continue to count while the database is unavailable, and are saved when it returns, with a log line for each change', async () => {
    const begin = app.log.length;
    const logged = (text: string) => app.log.slice(begin).filter((line) => line.includes(text)).length;
    await withoutTable(app.database, 'rate_limit_counters', async () => {
      for (let at = 0; at < 4; at += 1) expect((await get()).status).toBe(200);
      for (let run = 0; run < 2; run += 1) await expect(app.runDueWork()).rejects.toThrow('counters');
    });
    await app.runDueWork();
    expect(await saved()).toEqual([4]);
    expect([logged('counters and bans fails'), logged('bans works again')]).toEqual([1, 1]);
  });

  it('are written also while a stop waits for the last request', async () => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
    };
    const options = { method: 'POST', headers: { ...headers, 'content-length': 2 } };
    const last = request(`${app.url}/v1/pets`, options);
    last.flushHeaders();
    await passUntil(async () => (await saved())[0] === 1);
    await app.database.query('DELETE FROM rate_limit_instances');
    const stopped = app.nest.close();
    await passUntil(async () => (await app.database.query('SELECT FROM rate_limit_instances')).length === 1);
    last.end('{}');
    const [response] = await once(last, 'response');
    expect(response.statusCode).toBe(400);
    await stopped;
    await app.restart();
  });

  it('delay a stop until the save that is under way ends, and are saved again if it fails', async () => {
    await get();
    await lock();
    await passUntil(async () => (await waiting()).length === 1);
    const [save] = await waiting();
    const closed = once(app.nest.getHttpServer(), 'close');
    const stopped = app.nest.close();
    await closed;
    // The service waits for the save while the database responds to others.
    for (let turn = 0; turn < 20; turn += 1) expect(await waiting()).toHaveLength(1);
    await app.database.query('SELECT pg_terminate_backend($1)', [save!.pid]);
    await app.database.query('COMMIT');
    await stopped;
    expect(await saved()).toEqual([1]);
    await app.restart();
  });

  it('are deleted an hour after their windows have ended; a fast clock deletes no other rows', async () => {
    await app.database.query(
      `INSERT INTO rate_limit_counters
       SELECT owner, 1, ends_at, 1, ends_at
       FROM (VALUES ('old', timestamptz '2020-01-01Z'), ('other', clock_timestamp())) AS row (owner, ends_at)`,
    );
    app.clock.advance({ seconds: 100 * 366 * DAY_SECONDS });
    for (let run = 0; run < 3; run += 1) await app.runDueWork();
    app.clock.advance({ seconds: -100 * 366 * DAY_SECONDS });
    expect(await owners('^(old|other)$')).toEqual([{ owner: 'other' }]);
  });
});
