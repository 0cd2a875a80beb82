import { DataSource } from 'typeorm';
import { ApiKeysService } from '../../src/accounts';
import { describeKey } from '../../src/key/key.controller';
import {
  EarlierBans1795219200061,
  KeyBans1795219200014,
} from '../../src/platform/database/migrations/platform.migrations';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { until } from '../support/until';
import { BanClient } from './support/ban-client';
import { withoutTable } from '../support/without-table';

const BAN_AFTER = 3;
const BAN_SECONDS = 300;

// strikes.spec has the rules of strikes and bans, and redis-instances.spec the bans of two instances.
describe('bans', () => {
  let app: TestApp;
  let account: string;
  let key: string;
  let id: string;
  const choice = { plan: 'enterprise', perMinute: 2, perDay: 1_000_000 } as const;

  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: BAN_AFTER, rateLimitBanSeconds: BAN_SECONDS });
  });
  let specs = 0;
  beforeEach(async () => {
    account = `banned ${(specs += 1)}`;
    ({ key, id } = await app.createKey({ account, choice }));
  });
  afterAll(() => app.close());

  const ask = async (with_: string = key) => {
    const { status, headers, text } = await app.get('/v1/pets', { key: with_ });
    const code = status === 429 ? (JSON.parse(text) as { code: string }).code : String(status);
    return {
      code,
      retryAfter: Number(headers['retry-after']),
      remaining: Number(headers['x-ratelimit-remaining']),
      reset: Number(headers['x-ratelimit-reset']),
    };
  };
  /** Uses up the minute, gets one 429 and then a strike a second. */
  async function hammer(strikes: number): Promise<string[]> {
    const codes = [];
    for (let at = 0; at < 3; at += 1) codes.push((await ask()).code);
    app.clock.advance({ seconds: 1 });
    for (let at = 0; at < strikes; at += 1) {
      app.clock.advance({ seconds: 1 });
      codes.push((await ask()).code);
    }
    return codes;
  }
  const strikes = async (of = key) => (await app.get('/v1/key', { key: of })).json.strikes;
  const keys = () => app.nest.get(ApiKeysService, { strict: false });
  const listed = async () => {
    const [known] = await keys().list({ account });
    return known?.bannedUntil?.getTime();
  };
  const inSeconds = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
  const NO_STRIKES = { count: 0, banAfter: BAN_AFTER, bannedUntil: null };

  it('a key that retries too early is banned by its last strike, for the configured time', async () => {
    const codes = await hammer(BAN_AFTER);
    expect(codes.slice(0, 3)).toEqual(['200', '200', 'rate_limit_exceeded']);
    expect(codes.slice(3)).toEqual(['rate_limit_exceeded', 'rate_limit_exceeded', 'api_key_banned']);
    const reset = Math.ceil(app.clock.now() / 1_000) + BAN_SECONDS;
    const banned = { code: 'api_key_banned', retryAfter: BAN_SECONDS, remaining: 0, reset };
    expect(await ask()).toEqual(banned);
    const response = await app.get('/v1/pets', { key });
    expectError(response, 429, 'api_key_banned');
    expect(response.json.message).toContain('300 s');
    expect(response.headers['ratelimit']).toMatch(/^"minute";r=0;t=300, "day";r=\d+;t=\d+$/);
    app.clock.advance({ seconds: BAN_SECONDS - 0.5 });
    expect(await ask()).toEqual({ ...banned, retryAfter: 1 });
    app.clock.advance({ seconds: 0.5 });
    expect((await ask()).code).toBe('200');
  });

  it('a client that retries when its ban ends gets no strike, even if the day is used up', async () => {
    ({ key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 9, perDay: 1 } }));
    await hammer(BAN_AFTER);
    const banned = await app.get('/v1/pets', { key });
    expectError(banned, 429, 'api_key_banned');
    expect(banned.headers['ratelimit']).toBe('"minute";r=0;t=300, "day";r=0;t=300');
    app.clock.advance({ seconds: Number(banned.headers['retry-after']) });
    expect((await ask()).code).toBe('daily_quota_exceeded');
    expect(await strikes()).toEqual(NO_STRIKES);
  });

  it('GET /v1/key shows the strikes of the last five minutes, and succeeds during the ban that they begin', async () => {
    const { key: other } = await app.createKey({ account, choice: undefined });
    await hammer(1);
    expect(await strikes()).toEqual({ ...NO_STRIKES, count: 1 });
    app.clock.advance({ seconds: 299 });
    expect(await strikes()).toEqual({ ...NO_STRIKES, count: 1 });
    app.clock.advance({ seconds: 1 });
    expect(await strikes()).toEqual(NO_STRIKES);
    await hammer(BAN_AFTER);
    const bannedUntil = inSeconds(BAN_SECONDS);
    expect(await strikes()).toEqual({ ...NO_STRIKES, bannedUntil });
    app.clock.advance({ seconds: 200 });
    expect((await ask()).code).toBe('api_key_banned');
    expect(await strikes()).toEqual({ ...NO_STRIKES, bannedUntil });
    // The other keys of the account are admitted, within the windows that they share.
    expect(await strikes(other)).toEqual(NO_STRIKES);
    expect((await ask(other)).code).toBe('200');
    app.clock.advance({ seconds: 100 });
    expect(await strikes()).toEqual(NO_STRIKES);
  });

  const untilLifted = () => until(async () => (await strikes()).bannedUntil === null);

  it('keys unban lifts a ban within 5 s, forgets the strikes, and the next ban is as short as the first', async () => {
    await hammer(BAN_AFTER);
    await until(async () => (await listed()) !== undefined);
    await keys().unban(id.toUpperCase());
    await untilLifted();
    expect(await strikes()).toEqual(NO_STRIKES);
    expect((await ask()).code).toBe('rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(BAN_SECONDS);
  });

  it('a ban survives a restart, is in keys list until it ends, and makes the next one longer', async () => {
    await hammer(BAN_AFTER);
    const [first, firstAccount] = [key, account];
    ({ key, id } = await app.createKey({ account: (account = 'banned, too'), choice }));
    await hammer(BAN_AFTER);
    await app.restart();
    for (const each of [first, key]) expect((await ask(each)).code).toBe('api_key_banned');
    expect(await listed()).toBe(app.clock.now() + BAN_SECONDS * 1_000);
    await keys().unban(id);
    expect(await listed()).toBeUndefined();
    await untilLifted();
    [key, account] = [first, firstAccount];
    app.clock.advance({ seconds: BAN_SECONDS });
    expect(await listed()).toBeUndefined();
    // The start reads the ban that has ended.
    await app.restart();
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(6 * BAN_SECONDS);
  });

  it('counts as over if it began in the future, by a clock that was ahead; the next one counts', async () => {
    await app.restart();
    app.clock.advance({ seconds: 1_200 });
    await hammer(BAN_AFTER);
    await until(async () => (await listed()) !== undefined);
    app.clock.advance({ seconds: -1_200 });
    expect((await ask()).code).not.toBe('api_key_banned');
    expect([await strikes(), await listed()]).toEqual([NO_STRIKES, undefined]);
    await app.restart();
    expect((await ask()).code).not.toBe('api_key_banned');
    app.clock.advance({ seconds: 60 });
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(BAN_SECONDS);
    await until(async () => (await listed()) === app.clock.now() + BAN_SECONDS * 1_000);
    expect((await ask()).code).toBe('api_key_banned');
  });

  it('stays in force while the database is unavailable, and is saved when it returns', async () => {
    await withoutTable(app.database, 'key_bans', async () => {
      await hammer(BAN_AFTER);
      await until(() => app.log.some((line) => line.includes('bans fails')));
      expect((await ask()).code).toBe('api_key_banned');
    });
    await until(async () => (await listed()) !== undefined);
    expect((await ask()).code).toBe('api_key_banned');
  });

  it('leaves no row 24 h after it began', async () => {
    await app.database.query(
      `INSERT INTO key_bans SELECT age, now() - age::interval, now() - age::interval
       FROM unnest('{23 h,25 h}'::text[]) AS age`,
    );
    const rows = async () =>
      (await app.database.query<{ id: string }>('SELECT key_id AS id FROM key_bans')).map((row) => row.id);
    app.clock.advance({ seconds: 10 * 366 * 86_400 });
    await until(async () => !(await rows()).includes('25 h'));
    expect(await rows()).toContain('23 h');
  });

  it('keeps its row in a migration from the columns of earlier versions, and back', async () => {
    const { id: lifted } = await app.createKey({ account, choice });
    const runner = app.nest.get(DataSource).createQueryRunner();
    const migration = new KeyBans1795219200014();
    const later = new EarlierBans1795219200061();
    const times = `'2126-01-01T00:00:00Z', '2126-01-01T00:05:00Z'`;
    let found: { id: string; until: string }[];
    // Else the service would save the ban of an earlier test in between.
    await runner.startTransaction();
    try {
      await runner.query('LOCK TABLE api_keys, key_bans');
      await runner.query('DELETE FROM key_bans');
      await runner.query(`INSERT INTO key_bans VALUES ('${id}', ${times}), ('token 7', ${times})`);
      await later.down(runner);
      await migration.down(runner);
      await runner.query(
        `UPDATE api_keys SET banned_at = now(), banned_until = now(), unbanned_at = now() WHERE id = $1`,
        [lifted],
      );
      await migration.up(runner);
      await later.up(runner);
      found = await runner.query('SELECT key_id AS id, banned_until::text AS until FROM key_bans');
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
    const end = new Date('2126-01-01T00:05:00Z');
    expect(found.map((row) => row.id).sort()).toEqual([id, 'token 7'].sort());
    for (const row of found) expect(new Date(row.until)).toEqual(end);
  });
});

it.each([{ RATE_LIMIT_BAN_AFTER: '0' }, { RATE_LIMIT_BAN_SECONDS: '0', RATE_LIMIT_BAN_AFTER: '2' }])(
  '%j bans no key, and GET /v1/key shows banAfter 0',
  (settings) => {
    const client = new BanClient(settings);
    expect(client.hammer(9).verdict).toBe('limited');
    const principal = { keyId: 'key', accountName: 'account', plan: 'free', scopes: [] } as never;
    const { windows, now } = client.take();
    const standing = { windows, now, ...client.standing() };
    const { strikes } = describeKey(principal, standing, client.bans.banAfter);
    expect(strikes).toEqual({ count: 0, banAfter: 0, bannedUntil: null });
  },
);
