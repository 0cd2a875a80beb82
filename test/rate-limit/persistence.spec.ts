import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { ApiKeysService } from '../../src/accounts';
import { PageQuery } from '../../src/platform/paging/page';
import { RateLimitStore } from '../../src/rate-limit';
import { Persistence } from '../../src/rate-limit/persistence';
import { poolOf } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { createPatientDatabase } from '../support/patience';
import { holdTimers, pass, passUntil } from '../support/timers';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';
import { ThrottledModule } from './support/throttled.module';
import { withoutTable } from '../support/without-table';

const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 366 * DAY_SECONDS;

/** More than one statement saves. */
const OWNERS = 5_001;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
const day = ({ headers }: HttpResponse) => Number(/"day";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);

const SEEN = 'SELECT id, seen_at::text FROM rate_limit_instances';

describe('counters without Redis', () => {
  let app: TestApp;
  let key: string;
  /** The owner of the account's counters. */
  let owner: string;
  /** The log's length when the test began. */
  let logBegin: number;
  beforeAll(async () => {
    holdTimers();
    const settings = {
      rateLimitAnonymousPerMinute: 100,
      rateLimitBanAfter: 1,
      rateLimitBanSeconds: 2 * DAY_SECONDS,
      trustProxy: ['127.0.0.1'],
    };
    app = await startApp(settings, { modules: [ThrottledModule], database: await createPatientDatabase() });
  });
  beforeEach(async () => {
    logBegin = app.log.length;
    const created = await app.createKey();
    key = created.key;
    const [row] = await app.database.query<{ owner: string }>(
      `SELECT 'account:' || account_id AS owner FROM api_keys WHERE id = $1`,
      [created.id],
    );
    owner = row!.owner;
  });
  afterEach(() => app.database.query('COMMIT'));
  afterAll(async () => {
    await app.close();
    jest.useRealTimers();
  });

  const get = () => app.get('/v1/pets', { key });
  const from = (address: string) =>
    app.get('/v1/pets', { key: undefined, headers: { 'x-forwarded-for': address } });
  const saved = async () => {
    const rows = await app.database.query<{ used: number }>(
      'SELECT minute_used AS used FROM rate_limit_counters WHERE owner = $1',
      [owner],
    );
    return rows.map(({ used }) => used);
  };
  const lock = () => app.database.query('BEGIN; LOCK TABLE rate_limit_counters, rate_limit_instances');
  const waiting = () => lockWaits(app.database);
  const lastUse = async () =>
    (await app.nest.get(ApiKeysService, { strict: false }).list(new PageQuery())).items
      .find(({ lastFour }) => key.endsWith(lastFour))
      ?.lastUsedAt?.getTime();
  const thisMinute = () => Math.floor(app.clock.now() / 60_000) * 60_000;
  const logged = (text: string) => app.log.slice(logBegin).filter((line) => line.includes(text)).length;
  const seen = async () => JSON.stringify(await app.database.query(SEEN));

  it('survive a clean stop, for minute, day, address and route, of thousands of owners and of any address', async () => {
    for (let at = 0; at < 7; at += 1) await get();
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
    const owners = await app.database.query<{ owner: string }>('SELECT owner FROM rate_limit_counters');
    expect(owners.filter((row) => /^ip:\d+$/.test(row.owner))).toHaveLength(OWNERS);
    expect(owners).toContainEqual({ owner: `${owner}:route:POST /v1/slots:default` });
  });

  it('survive a clean stop on a later day, and so do the last use of a key and a ban that runs for longer than a day', async () => {
    const choice = { plan: 'enterprise', perMinute: 1, perDay: 9 } as const;
    const { key: greedy } = await app.createKey({ choice });
    const ask = async () => (await app.get('/v1/pets', { key: greedy })).json.code;
    for (let at = 0; at < 2; at += 1) await ask();
    app.clock.advance({ seconds: 2 });
    expect(await ask()).toBe('api_key_banned');
    app.clock.advance({ seconds: DAY_SECONDS + 1 });
    const before = await get();
    await app.restart();
    expect(await lastUse()).toBe(thisMinute());
    expect(day(await get())).toBe(day(before) - 1);
    expect(await ask()).toBe('api_key_banned');
  });

  it('are written within a second of the request, so that a crash loses no more, and so is the last use of a key', async () => {
    app.clock.advance({ seconds: 77 });
    await get();
    pass({ seconds: 1 });
    await passUntil(async () => (await saved()).length === 1);
    expect(await saved()).toEqual([1]);
    await until(async () => (await lastUse()) === thisMinute());
    app.clock.advance({ seconds: 60 });
    const before = await get();
    await app.restart();
    expect(day(await get())).toBe(day(before) - 1);
  });

  it('continue to count while the database is unavailable, and are saved when it returns', async () => {
    await withoutTable(app.database, 'rate_limit_counters', async () => {
      for (let at = 0; at < 4; at += 1) expect((await get()).status).toBe(200);
      await passUntil(() => logged('counters and bans fails') === 1);
      pass({ seconds: 1 });
    });
    await passUntil(() => logged('bans works again') === 1);
    expect(await saved()).toEqual([4]);
    expect(logged('counters and bans fails')).toBe(1);
  });

  it('are written also while a stop waits for the last request', async () => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
    };
    const last = request(`${app.url}/v1/pets`, {
      method: 'POST',
      headers: { ...headers, 'content-length': 2 },
    });
    last.flushHeaders();
    await passUntil(async () => (await saved())[0] === 1);
    const before = await seen();
    const stopped = app.nest.close();
    await passUntil(async () => (await seen()) !== before);
    last.end('{}');
    const [response] = await once(last, 'response');
    expect(response.statusCode).toBe(400);
    await stopped;
    await app.restart();
  });

  it('delay a stop by at most 3 s if the database hangs', async () => {
    await get();
    await lock();
    holdTimers({ timeouts: true });
    const stopped = app.nest.close();
    await until(async () => (await waiting()).length === 1);
    pass({ seconds: 3 });
    // The pool closes next, which ends a query without a response: see `createPatientDatabase`.
    await until(() => poolOf(app).ending);
    pass({ seconds: 60 });
    await stopped;
    await app.database.query('COMMIT');
    holdTimers();
    await app.restart();
    expect((await get()).status).toBe(200);
  });

  it('delay a stop until the save that is under way ends, and are saved again if it fails', async () => {
    await get();
    await lock();
    await passUntil(async () => (await waiting()).length === 1);
    const [save] = await waiting();
    const lastSave = jest.spyOn(app.nest.get(Persistence, { strict: false }), 'onApplicationShutdown');
    const stopped = app.nest.close();
    await until(() => lastSave.mock.calls.length === 1);
    await app.database.query('SELECT pg_terminate_backend($1)', [save!.pid]);
    await app.database.query('COMMIT');
    await stopped;
    expect(await saved()).toEqual([1]);
    await app.restart();
  });

  it('are not loaded after their windows have ended, and are deleted an hour later; a fast clock deletes no other rows', async () => {
    const owners = async () =>
      (await app.database.query<{ owner: string }>('SELECT owner FROM rate_limit_counters')).map(
        (row) => row.owner,
      );
    await app.database.query(
      `INSERT INTO rate_limit_counters
       SELECT owner, 1, ends_at, 1, ends_at
       FROM (VALUES ('old', timestamptz '2020-01-01Z'), ('other', clock_timestamp())) AS row (owner, ends_at)`,
    );
    app.clock.advance({ seconds: 100 * YEAR_SECONDS });
    await app.restart();
    const store = app.nest.get(RateLimitStore, { strict: false });
    const limits = { perMinute: 9, perDay: 9 };
    for (const each of ['old', 'other']) expect(store.peek(each, limits).day?.remaining).toBe(9);
    await passUntil(async () => !(await owners()).includes('old'));
    expect(await owners()).toContain('other');
  });
});
