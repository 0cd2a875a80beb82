import { randomBytes } from 'node:crypto';
import { createApp } from '../../src/app/create-app';
import { createStore } from '../../src/app/store';
import { readConfig } from '../../src/platform/config/config';
import { createLogger } from '../../src/platform/logging/logger';
import { RateLimitStore } from '../../src/rate-limit';
import { CounterPersistence } from '../../src/rate-limit/counter-persistence';
import { poolOf } from '../failure/support/pool';
import { startApp, type TestApp } from '../support/app';
import type { HttpResponse } from '../support/http';
import { holdTimers, pass, passUntil } from '../support/timers';
import { lockWaits } from '../support/lock-waits';
import { until } from '../support/until';

const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 366 * DAY_SECONDS;

/** More than one statement saves. */
const OWNERS = 10_001;

const shown = ({ headers }: HttpResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
const day = ({ headers }: HttpResponse) => Number(/"day";r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);

describe('counters without Redis', () => {
  let app: TestApp;
  beforeEach(async () => {
    holdTimers();
    app = await startApp({
      rateLimitAnonymousPerMinute: 100,
      rateLimitBanAfter: 1,
      rateLimitBanSeconds: 2 * DAY_SECONDS,
    });
  });
  afterEach(async () => {
    await app.database.query('COMMIT');
    await app.close();
    jest.useRealTimers();
  });
  const lock = () => app.database.query('BEGIN; LOCK TABLE rate_limit_counters, rate_limit_instances');
  const waiting = () => lockWaits(app.database);
  const announcements = async () => JSON.stringify(await app.database.query(ANNOUNCEMENTS));
  /** A round announces the instance, then counts the others: after the second announcement one round is complete. */
  async function passRound(): Promise<void> {
    for (let round = 0; round < 2; round += 1) {
      const announced = await announcements();
      await passUntil(async () => (await announcements()) !== announced);
    }
  }

  it('survive a clean stop, for minute, day and address', async () => {
    for (let at = 0; at < 7; at += 1) await app.get('/v1/pets');
    for (let at = 0; at < 3; at += 1) await app.get('/v1/pets', { key: undefined });
    const before = await app.get('/v1/pets');
    await app.restart();
    const after = await app.get('/v1/pets');
    expect(shown(after)).toEqual([1_000, shown(before)[1]! - 1, shown(before)[2]]);
    expect(day(after)).toBe(day(before) - 1);
    expect(shown(await app.get('/v1/pets', { key: undefined }))[1]).toBe(96);
  });

  it('a clean stop loses nothing of a later day', async () => {
    await app.get('/v1/pets');
    await app.restart();
    app.clock.advance({ seconds: DAY_SECONDS });
    const before = await app.get('/v1/pets');
    await app.restart();
    expect(day(await app.get('/v1/pets'))).toBe(day(before) - 1);
  });

  it('a clean stop saves the counters of thousands of owners', async () => {
    const store = app.nest.get(RateLimitStore, { strict: false });
    for (let at = 0; at < OWNERS; at += 1) await store.take({ owner: `ip:${at}`, limits: { perMinute: 1 } });
    await app.restart();
    expect(await app.database.query('SELECT count(*)::integer FROM rate_limit_counters')).toEqual([
      { count: OWNERS },
    ]);
  });

  it('a ban that runs for longer than a day survives a restart on its second day', async () => {
    const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } });
    const ask = async () => (await app.get('/v1/pets', { key })).json.code;
    for (let at = 0; at < 2; at += 1) await ask();
    app.clock.advance({ seconds: 2 });
    expect(await ask()).toBe('api_key_banned');
    app.clock.advance({ seconds: DAY_SECONDS + 1 });
    await app.restart();
    expect(await ask()).toBe('api_key_banned');
  });

  it('are written within a second of the request, so that a crash loses no more', async () => {
    await app.get('/v1/pets');
    pass({ seconds: 1 });
    await until(async () => {
      const rows = await app.database.query<{ used: number }>(
        'SELECT minute_used AS used FROM rate_limit_counters',
      );
      return rows.some(({ used }) => used === 1);
    });
    expect(await app.database.query('SELECT owner FROM rate_limit_counters')).toEqual([
      { owner: expect.stringMatching(/^account:\d+$/) },
    ]);
  });

  it('continue to count while the database is unavailable, and are saved when it returns', async () => {
    await app.get('/v1/pets');
    await app.database.query('ALTER TABLE rate_limit_counters RENAME TO away');
    for (let at = 0; at < 4; at += 1) expect((await app.get('/v1/pets')).status).toBe(200);
    pass({ seconds: 1 });
    await until(() => app.log.some((line) => line.includes('cannot be saved')));
    await app.database.query('ALTER TABLE away RENAME TO rate_limit_counters');
    await passUntil(() => app.log.some((line) => line.includes('are saved again')));
    await app.restart();
    expect(shown(await app.get('/v1/pets'))[1]).toBe(1_000 - 6);
    expect(app.log.filter((line) => line.includes('cannot be saved'))).toHaveLength(1);
  });

  it('are not loaded after their windows have ended, and are deleted an hour later; a fast clock deletes no other rows', async () => {
    await app.get('/v1/pets');
    app.clock.advance({ seconds: 100 * YEAR_SECONDS });
    await app.restart(async () => {
      await app.database.query(
        `INSERT INTO rate_limit_counters
         SELECT owner, 1, ends_at, 1, ends_at
         FROM (VALUES ('old', timestamptz '2020-01-01Z'), ('other', clock_timestamp())) AS row (owner, ends_at)`,
      );
    });
    expect(shown(await app.get('/v1/pets'))[1]).toBe(999);
    const owners = async () => {
      const rows = await app.database.query<{ owner: string }>('SELECT owner FROM rate_limit_counters');
      return rows.map(({ owner }) => owner);
    };
    await passUntil(async () => !(await owners()).includes('old'));
    expect(await owners()).toContain('other');
  });

  it('are saved even if another address is missing or too long for the table', async () => {
    const proxied = await startApp({ trustProxy: ['127.0.0.1'], rateLimitAnonymousPerMinute: 100 });
    const from = (address: string) =>
      proxied.get('/v1/pets', { key: undefined, headers: { 'x-forwarded-for': address } });
    for (let at = 0; at < 5; at += 1) await proxied.get('/v1/pets');
    await from(randomBytes(4_500).toString('base64'));
    await proxied.restart();
    expect(shown(await proxied.get('/v1/pets'))[1]).toBe(1_000 - 6);
    await proxied.close();
  });

  it('delay a stop by at most 3 s if the database hangs', async () => {
    await app.get('/v1/pets');
    await lock();
    holdTimers({ timeouts: true });
    const stopped = app.nest.close();
    await until(async () => (await waiting()).length === 1);
    pass({ seconds: 3 });
    // The pool closes next, which ends a query without a response.
    await until(() => poolOf(app).ending);
    pass({ seconds: 10 });
    await stopped;
    await app.database.query('COMMIT');
    await app.restart();
    expect((await app.get('/v1/pets')).status).toBe(200);
  });

  it('delay a stop until the save that is under way ends, and are saved again if it fails', async () => {
    await app.get('/v1/pets');
    await lock();
    pass({ seconds: 1 });
    await until(async () => (await waiting()).length === 1);
    const [save] = await waiting();
    const lastSave = jest.spyOn(app.nest.get(CounterPersistence, { strict: false }), 'onApplicationShutdown');
    const stopped = app.nest.close();
    await until(() => lastSave.mock.calls.length === 1);
    await app.database.query('SELECT pg_terminate_backend($1)', [save!.pid]);
    await app.database.query('COMMIT');
    await stopped;
    expect(await app.database.query('SELECT minute_used AS used FROM rate_limit_counters')).toEqual([
      { used: 1 },
    ]);
  });

  it('cause a warning if a second instance uses the same database, but not after a restart', async () => {
    await app.restart();
    // Nest has one logger in a process: both instances write to the log of the later one.
    const log: string[] = [];
    const warnings = () => log.filter((line) => line.includes('without Redis'));
    const config = { ...readConfig({}), databaseUrl: app.database.url };
    const logger = createLogger(config, { write: (line) => log.push(line) });
    const second = await createApp(config, logger, createStore());
    await passUntil(() => warnings().length === 2);
    await second.close();
    // Another instance has just crashed.
    await app.restart(async () => {
      await app.database.query(ANOTHER);
    });
    const before = app.log.length;
    await passRound();
    expect(app.log.slice(before).filter((line) => line.includes('without Redis'))).toEqual([]);
    expect(await app.database.query(ANNOUNCEMENTS)).toHaveLength(2);
  });

  it('a second instance that comes after another one has gone is warned of again', async () => {
    const warnings = () => app.log.filter((line) => line.includes('without Redis'));
    for (const count of [1, 2]) {
      await app.database.query(ANOTHER);
      await passUntil(() => warnings().length === count);
      await app.database.query('DELETE FROM rate_limit_instances');
      await passRound();
    }
    expect(warnings()).toHaveLength(2);
  });

  it('a key that was used says when, to the minute, and costs its requests no query', async () => {
    const { id, key } = await app.createKey();
    app.clock.advance({ seconds: 77 });
    await app.get('/v1/pets', { key });
    await app.get('/v1/pets', { key });
    pass({ seconds: 1 });
    await until(async () => {
      const [row] = await app.database.query<{ at: Date | null }>(
        'SELECT last_used_at AS at FROM api_keys WHERE id = $1',
        [id],
      );
      return row?.at?.getTime() === Math.floor(app.clock.now() / 60_000) * 60_000;
    });
    app.clock.advance({ seconds: 60 });
    await app.get('/v1/pets', { key });
    await app.restart();
    const [row] = await app.database.query<{ at: Date }>(
      'SELECT last_used_at AS at FROM api_keys WHERE id = $1',
      [id],
    );
    expect(row!.at.getTime()).toBe(Math.floor(app.clock.now() / 60_000) * 60_000);
  });
});

const ANOTHER = 'INSERT INTO rate_limit_instances VALUES (gen_random_uuid(), clock_timestamp())';

const ANNOUNCEMENTS = 'SELECT id, seen_at::text FROM rate_limit_instances';
