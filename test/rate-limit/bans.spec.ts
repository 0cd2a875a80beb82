import { ApiKeysService } from '../../src/accounts';
import type { TestApp } from '../support/app';
import { describeOverStores } from '../support/stores';
import { expectError } from '../support/expect-error';

const BAN_AFTER = 5;
const BAN_SECONDS = 300;
/** Far more 429s than the strikes of a ban. */
const BURST = 20 * BAN_AFTER;

describeOverStores('bans', (start) => {
  let app: TestApp;
  let account: string;
  let key: string;
  let id: string;
  const choice = { plan: 'enterprise', perMinute: 2, perDay: 1_000_000 } as const;

  beforeAll(async () => {
    app = await start({ rateLimitBanAfter: BAN_AFTER, rateLimitBanSeconds: BAN_SECONDS });
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
  const listed = async () => {
    const keys = await app.nest.get(ApiKeysService, { strict: false }).list(account);
    return keys.map(({ bannedUntil }) => bannedUntil?.getTime());
  };
  const nowSeconds = () => Math.ceil(app.clock.now() / 1_000);

  it('a key that retries too early is banned by its last strike, for the configured time', async () => {
    const codes = await hammer(BAN_AFTER);
    expect(codes.slice(0, 3)).toEqual(['200', '200', 'rate_limit_exceeded']);
    expect(codes.slice(3)).toEqual([
      ...Array<string>(BAN_AFTER - 1).fill('rate_limit_exceeded'),
      'api_key_banned',
    ]);
    const end = nowSeconds() + BAN_SECONDS;
    expect(await ask()).toEqual({
      code: 'api_key_banned',
      retryAfter: BAN_SECONDS,
      remaining: 0,
      reset: end,
    });
    app.clock.advance({ seconds: BAN_SECONDS - 0.5 });
    expect(await ask()).toEqual({ code: 'api_key_banned', retryAfter: 1, remaining: 0, reset: end });
    app.clock.advance({ seconds: 0.5 });
    expect((await ask()).code).toBe('200');
  });

  it('429 api_key_banned is an Error body that says when the ban ends', async () => {
    await hammer(BAN_AFTER);
    const response = await app.get('/v1/pets', { key });
    expectError(response, 429, 'api_key_banned');
    expect(response.json.message).toContain('300 s');
  });

  it('another ban within 24 h lasts six times as long, and never longer', async () => {
    await hammer(BAN_AFTER);
    app.clock.advance({ seconds: BAN_SECONDS });
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(6 * BAN_SECONDS);
    app.clock.advance({ seconds: 6 * BAN_SECONDS });
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(6 * BAN_SECONDS);
    app.clock.advance({ seconds: 86_401 });
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(BAN_SECONDS);
  });

  it('a client that respects Retry-After is never banned', async () => {
    for (let round = 0; round < 3 * BAN_AFTER; round += 1) {
      for (let at = 0; at < 2; at += 1) expect((await ask()).code).toBe('200');
      const refused = await ask();
      expect(refused.code).toBe('rate_limit_exceeded');
      app.clock.advance({ seconds: refused.retryAfter });
    }
  });

  it(`a client that sends ${BURST} requests concurrently is not banned`, async () => {
    await Promise.all(Array.from({ length: BURST }, () => ask()));
    app.clock.advance({ seconds: 60 });
    expect((await ask()).code).toBe('200');
  });

  it('a 429 during a ban is not a strike and does not prolong the ban', async () => {
    await hammer(BAN_AFTER);
    for (let at = 0; at < 10 * BAN_AFTER; at += 1) await ask();
    app.clock.advance({ seconds: BAN_SECONDS });
    expect((await ask()).code).toBe('200');
    expect((await hammer(1)).at(-1)).toBe('rate_limit_exceeded');
  });

  it('strikes count for five minutes', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect((await hammer(BAN_AFTER - 1)).at(-1)).toBe('rate_limit_exceeded');
      app.clock.advance({ seconds: 301 });
    }
    expect((await hammer(BAN_AFTER - 2)).at(-1)).toBe('rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await hammer(2)).at(-1)).toBe('api_key_banned');
  });

  it("the account's other keys are admitted, within the windows that they share", async () => {
    const { key: other } = await app.createKey({ account, choice: undefined });
    await hammer(BAN_AFTER);
    expect((await ask(other)).code).toBe('rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await ask(other)).code).toBe('200');
    expect((await ask()).code).toBe('api_key_banned');
  });

  it('keys unban lifts a ban within 5 s, and the next ban is as short as the first', async () => {
    await hammer(BAN_AFTER);
    await app.nest.get(ApiKeysService, { strict: false }).unban(id);
    app.clock.advance({ seconds: 5 });
    expect((await ask()).code).toBe('rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await ask()).code).toBe('200');
    app.clock.advance({ seconds: 60 });
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(BAN_SECONDS);
  });

  it('keys unban lifts a ban if its clock is an hour slow, and keys list shows no ban', async () => {
    await hammer(BAN_AFTER);
    // The ban is saved.
    await app.restart();
    app.clock.advance({ seconds: -3_600 });
    await app.nest.get(ApiKeysService, { strict: false }).unban(id);
    app.clock.advance({ seconds: 3_600 });
    expect(await listed()).toEqual([undefined]);
    expect((await ask()).code).toBe('rate_limit_exceeded');
    app.clock.advance({ seconds: 60 });
    expect((await ask()).code).toBe('200');
  });

  it('a ban survives a restart, makes the next one longer, and is in keys list until it ends', async () => {
    await hammer(BAN_AFTER);
    await app.restart();
    expect((await ask()).code).toBe('api_key_banned');
    expect(await listed()).toEqual([app.clock.now() + BAN_SECONDS * 1_000]);
    app.clock.advance({ seconds: BAN_SECONDS });
    expect(await listed()).toEqual([undefined]);
    expect((await hammer(BAN_AFTER)).at(-1)).toBe('api_key_banned');
    expect((await ask()).retryAfter).toBe(6 * BAN_SECONDS);
  });
});

describeOverStores('bans at the first strike', (start) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ rateLimitBanAfter: 1, rateLimitBanSeconds: BAN_SECONDS });
  });
  afterAll(() => app.close());

  it('a 429 is a strike only if it comes more than a second after the first one', async () => {
    const choice = { plan: 'enterprise', perMinute: 2, perDay: 1_000_000 } as const;
    const { key } = await app.createKey({ choice });
    const code = async () => {
      const { status, json } = await app.get('/v1/pets', { key });
      return status === 429 ? json.code : status;
    };
    expect([await code(), await code(), await code()]).toEqual([200, 200, 'rate_limit_exceeded']);
    app.clock.advance({ seconds: 1 });
    expect(await code()).toBe('rate_limit_exceeded');
    app.clock.advance({ seconds: 0.001 });
    expect(await code()).toBe('api_key_banned');
  });

  it('a client that retries when its ban ends gets no strike, even if the day is used up', async () => {
    const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 9, perDay: 1 } });
    const again = () => app.get('/v1/pets', { key });
    for (let at = 0; at < 2; at += 1) await again();
    app.clock.advance({ seconds: 2 });
    const banned = await again();
    expectError(banned, 429, 'api_key_banned');
    expect(banned.headers['ratelimit']).toMatch(/^"minute";r=0;t=300, "day";r=0;t=300$/);
    app.clock.advance({ seconds: Number(banned.headers['retry-after']) });
    expectError(await again(), 429, 'daily_quota_exceeded');
  });
});

describeOverStores('bans switched off', (start) => {
  it.each([{ rateLimitBanAfter: 0 }, { rateLimitBanSeconds: 0, rateLimitBanAfter: 2 }])(
    '%j bans no key',
    async (settings) => {
      const app = await start(settings);
      const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 9 } });
      await app.get('/v1/pets', { key });
      for (let at = 0; at < 10; at += 1) {
        expectError(await app.get('/v1/pets', { key }), 429, 'rate_limit_exceeded');
        app.clock.advance({ seconds: 1.1 });
      }
      await app.close();
    },
  );
});
