import { startApp, type TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { expectError } from '../support/expect-error';
import { withoutTable } from '../support/without-table';

const BAN_AFTER = 3;
const BAN_SECONDS = 300;
const SETTINGS = { rateLimitBanAfter: BAN_AFTER, rateLimitBanSeconds: BAN_SECONDS };
const NO_STRIKES = { count: 0, banAfter: BAN_AFTER, bannedUntil: null };
const choice = { plan: 'enterprise', perMinute: 2, perDay: 1_000_000 } as const;

// strikes.spec has the strikes at any times and fleets of clients, redis-instances.spec the bans of two instances.
describe('bans', () => {
  let app: TestApp;
  let account: string;
  let key: string;
  let id: string;
  let admin: string;
  beforeAll(async () => {
    app = await startApp(SETTINGS);
    admin = await app.unlimitedKey();
  });
  const begin = new TestClock().now();
  let specs = 0;
  beforeEach(async () => {
    setClock(app, begin);
    account = `banned ${(specs += 1)}`;
    ({ key, id } = await app.createKey({ account, choice }));
  });

  const setClock = ({ clock }: TestApp, ms: number) => clock.advance({ seconds: (ms - clock.now()) / 1_000 });
  const get = (by = key) => app.get('/v1/pets', { key: by });
  const codeOf = async (by = key) => {
    const { status, json } = await get(by);
    return status === 429 ? json.code : status;
  };
  /** Uses up the minute, and gets a strike a second. */
  async function hammer(by = app) {
    const codes = [];
    for (let at = 0; at < 2 + BAN_AFTER; at += 1) {
      if (at > 1) by.clock.advance({ seconds: 1 });
      const { status, json } = await by.get('/v1/pets', { key });
      codes.push(status === 429 ? json.code : status);
    }
    return codes;
  }
  const strikes = async (of = key, by = app) => (await by.get('/v1/key', { key: of })).json.strikes;
  /** As an administrator sees it. */
  const bannedUntil = async () => (await app.get(`/v1/keys/${id}`, { key: admin })).json.bannedUntil;
  const unban = async () => (await app.post(`/v1/keys/${id}/unban`, undefined, { key: admin })).status;
  const inSeconds = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();

  it('a key is banned by its last strike, for the configured time; its 429s use up no window', async () => {
    const limited = 'rate_limit_exceeded';
    expect(await hammer()).toEqual([200, 200, limited, limited, 'api_key_banned']);
    const reset = String(Math.ceil(app.clock.now() / 1_000) + BAN_SECONDS);
    const headers = { 'retry-after': '300', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    const response = await get();
    expectError(response, 429, 'api_key_banned');
    expect(response.headers).toMatchObject(headers);
    expect(response.headers['ratelimit']).toMatch(/^"minute";r=0;t=300, "day";r=0;t=300$/);
    app.clock.advance({ seconds: BAN_SECONDS - 0.5 });
    expect((await get()).headers).toMatchObject({ ...headers, 'retry-after': '1' });
    app.clock.advance({ seconds: 0.5 });
    expect((await get()).headers['x-ratelimit-remaining']).toBe('1');
  });

  it('GET /v1/key shows the strikes, and succeeds during the ban; the other keys of the account are admitted', async () => {
    const { key: other } = await app.createKey({ account, choice: undefined });
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf()));
    expect(codes.filter((code) => code === 'rate_limit_exceeded')).toHaveLength(18);
    expect(await strikes()).toEqual({ ...NO_STRIKES, count: 1 });
    app.clock.advance({ seconds: 300 });
    expect(await strikes()).toEqual(NO_STRIKES);
    await hammer();
    const banned = { ...NO_STRIKES, bannedUntil: inSeconds(BAN_SECONDS) };
    expect(await strikes()).toEqual(banned);
    app.clock.advance({ seconds: 200 });
    expect([await strikes(), await strikes(other)]).toEqual([banned, NO_STRIKES]);
    expect([await codeOf(), await codeOf(other)]).toEqual(['api_key_banned', 200]);
    app.clock.advance({ seconds: 100 });
    expect(await strikes()).toEqual(NO_STRIKES);
  });

  it('a ban survives a restart, and is shown until it ends; the next one is as long', async () => {
    await hammer();
    const [lasting, lastingId] = [key, id];
    ({ key, id } = await app.createKey({ account: 'unbanned', choice }));
    await hammer();
    await app.restart();
    expect([await codeOf(lasting), await codeOf()]).toEqual(['api_key_banned', 'api_key_banned']);
    expect(await bannedUntil()).toBe(inSeconds(BAN_SECONDS));
    expect(await unban()).toBe(200);
    expect(await bannedUntil()).toBeNull();
    await app.runDueWork();
    expect(await codeOf()).not.toBe('api_key_banned');
    [key, id] = [lasting, lastingId];
    app.clock.advance({ seconds: BAN_SECONDS });
    expect(await bannedUntil()).toBeNull();
    expect((await hammer()).at(-1)).toBe('api_key_banned');
    expect((await get()).headers['retry-after']).toBe(String(BAN_SECONDS));
  });

  it('stays in force while the database is unavailable, and is saved when it returns', async () => {
    await withoutTable(app.database, 'key_bans', async () => {
      await hammer();
      await expect(app.runDueWork()).rejects.toThrow('key_bans');
      expect(await codeOf()).toBe('api_key_banned');
    });
    await app.runDueWork();
    expect([await bannedUntil(), await codeOf()]).toEqual([inSeconds(BAN_SECONDS), 'api_key_banned']);
  });

  it('of an instance with a wrong clock stays in force there, and ends in time elsewhere', async () => {
    setClock(app, Date.now());
    const database = Object.assign(Object.create(app.database), { drop: () => Promise.resolve() });
    const other = await startApp(SETTINGS, { database });
    for (const [seconds, isBanned] of [
      [-600, false],
      [86_400, true],
    ] as const) {
      ({ key, id } = await app.createKey({ choice }));
      setClock(other, app.clock.now() + seconds * 1_000);
      await hammer(other);
      for (const each of [other, app, other]) await each.runDueWork();
      expect((await other.get('/v1/pets', { key })).json.code).toBe('api_key_banned');
      const shown = [(await strikes()).bannedUntil, await bannedUntil()];
      expect(shown.map((time) => time !== null)).toEqual([isBanned, isBanned]);
      app.clock.advance({ seconds: BAN_SECONDS });
      expect([await strikes(), await bannedUntil()]).toEqual([NO_STRIKES, null]);
      // The clock is right again.
      setClock(other, app.clock.now());
      await other.runDueWork();
      expect(await strikes(key, other)).toEqual(NO_STRIKES);
    }
    await other.close();
  });
});
