import { ApiKeysService } from '../../src/accounts';
import { PageQuery } from '../../src/platform/paging/page';
import { Bans } from '../../src/rate-limit/bans';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { until } from '../support/until';
import { withoutTable } from '../support/without-table';

const BAN_AFTER = 3;
const BAN_SECONDS = 300;

// strikes.spec has the fleets that are never banned, and redis-instances.spec the bans of two instances.
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
  /** Uses up the minute, and gets a strike a second. */
  async function hammer(strikes: number): Promise<string[]> {
    const codes = [(await ask()).code, (await ask()).code];
    for (let at = 0; at < strikes; at += 1) {
      app.clock.advance({ seconds: 1 });
      codes.push((await ask()).code);
    }
    return codes;
  }
  const strikes = async (of = key) => (await app.get('/v1/key', { key: of })).json.strikes;
  const keys = () => app.nest.get(ApiKeysService, { strict: false });
  const listed = async () => {
    const [known] = (await keys().list(new PageQuery(), { account })).items;
    return known?.bannedUntil?.getTime();
  };
  const inSeconds = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
  const NO_STRIKES = { count: 0, banAfter: BAN_AFTER, bannedUntil: null };

  it('a key is banned by its last strike, for the configured time', async () => {
    const limited = 'rate_limit_exceeded';
    expect(await hammer(BAN_AFTER)).toEqual(['200', '200', limited, limited, 'api_key_banned']);
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

  it('concurrent requests, and all within a second, are one strike; a 429 of a ban is never a strike', async () => {
    const many = () => Promise.all(Array.from({ length: 50 }, () => ask()));
    const rejections = async () => (await many()).filter(({ code }) => code === 'rate_limit_exceeded').length;
    expect([await rejections(), (await strikes()).count]).toEqual([48, 1]);
    app.clock.advance({ seconds: 0.999 });
    expect([await rejections(), (await strikes()).count]).toEqual([50, 1]);
    app.clock.advance({ seconds: 0.001 });
    expect([await rejections(), (await strikes()).count]).toEqual([50, 2]);
    app.clock.advance({ seconds: 1 });
    expect(new Set((await many()).map(({ code }) => code))).toEqual(new Set(['api_key_banned']));
    for (let second = 0; second < 5; second += 1) {
      app.clock.advance({ seconds: 1 });
      expect((await ask()).code).toBe('api_key_banned');
    }
    app.clock.advance({ seconds: BAN_SECONDS - 5 });
    expect(await strikes()).toEqual(NO_STRIKES);
    // The 429s have used up no window.
    expect((await ask()).remaining).toBe(1);
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
    // The other keys of the account are admitted within the windows that they share.
    expect(await strikes(other)).toEqual(NO_STRIKES);
    expect((await ask(other)).code).toBe('200');
    app.clock.advance({ seconds: 100 });
    expect(await strikes()).toEqual(NO_STRIKES);
  });

  const untilLifted = () => until(async () => (await strikes()).bannedUntil === null);

  it('a ban survives a restart, and is in keys list until it ends; the next one is as long', async () => {
    await hammer(BAN_AFTER);
    const [first, firstAccount] = [key, account];
    ({ key, id } = await app.createKey({ account: (account = 'banned, too'), choice }));
    await hammer(BAN_AFTER);
    await app.restart();
    for (const each of [first, key]) expect((await ask(each)).code).toBe('api_key_banned');
    expect(await listed()).toBe(app.clock.now() + BAN_SECONDS * 1_000);
    await keys().unban(id.toUpperCase());
    expect(await listed()).toBeUndefined();
    await untilLifted();
    [key, account] = [first, firstAccount];
    app.clock.advance({ seconds: BAN_SECONDS });
    expect(await listed()).toBeUndefined();
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(BAN_SECONDS);
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

  it('keeps its row until a day after its end by the clock of the database', async () => {
    await app.database.query(
      `INSERT INTO key_bans VALUES ('over', now() - interval '25 h'), ('on', now() - interval '23 h')`,
    );
    const rows = async () =>
      (await app.database.query<{ id: string }>('SELECT key_id AS id FROM key_bans')).map((row) => row.id);
    app.clock.advance({ seconds: 10 * 366 * 86_400 });
    await until(async () => !(await rows()).includes('over'));
    expect(await rows()).toContain('on');
  });

  describe('of an instance with a wrong clock', () => {
    let other: TestApp;
    beforeAll(async () => {
      app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
      const database = Object.assign(Object.create(app.database), { drop: () => Promise.resolve() });
      const settings = { rateLimitBanAfter: BAN_AFTER, rateLimitBanSeconds: BAN_SECONDS };
      other = await startApp(settings, { database });
    });
    afterAll(() => other.close());

    it.each([
      ['10 minutes behind', -600, false],
      ['a day ahead', 86_400, true],
    ])('%s stays in force there, and ends in time elsewhere', async (_clock, seconds, isBanned) => {
      other.clock.advance({ seconds: (app.clock.now() - other.clock.now()) / 1_000 + seconds });
      for (let at = 0; at < 2 + BAN_AFTER; at += 1) {
        await other.get('/v1/pets', { key });
        other.clock.advance({ seconds: 1 });
      }
      const rows = () => app.database.query('SELECT FROM key_bans WHERE key_id = $1', [id]);
      await until(async () => (await rows()).length === 1);
      for (const { nest } of [app, other, app, other]) await nest.get(Bans, { strict: false }).read();
      expect((await other.get('/v1/pets', { key })).json.code).toBe('api_key_banned');
      expect((await strikes()).bannedUntil !== null).toBe(isBanned);
      expect((await listed()) !== undefined).toBe(isBanned);
      app.clock.advance({ seconds: BAN_SECONDS });
      expect([await strikes(), await listed()]).toEqual([NO_STRIKES, undefined]);
      // The clock is right again.
      other.clock.advance({ seconds: BAN_SECONDS - seconds });
      await other.nest.get(Bans, { strict: false }).read();
      expect((await other.get('/v1/key', { key })).json.strikes).toEqual(NO_STRIKES);
      expect(await keys().unban(id)).toBe(false);
    });
  });

  it.each([{ rateLimitBanAfter: 0 }, { rateLimitBanSeconds: 0 }])(
    '%j bans no key, and GET /v1/key shows banAfter 0',
    async (setting) => {
      const free = await startApp({ rateLimitBanAfter: BAN_AFTER, ...setting }, { beside: app });
      for (let second = 0; second <= 2 * BAN_AFTER; second += 1) {
        expect((await free.get('/v1/pets', { key })).json.code).not.toBe('api_key_banned');
        app.clock.advance({ seconds: 1 });
      }
      expect((await free.get('/v1/key', { key })).json.strikes).toEqual({ ...NO_STRIKES, banAfter: 0 });
      await free.close();
    },
  );
});
