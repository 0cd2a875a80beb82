import { ApiKeysService } from '../../src/accounts';
import type { TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { describeOverStores } from '../support/stores';

const PATH = '/v1/key';
const SMALL = { plan: 'enterprise', perMinute: 2, perDay: 9 } as const;

describeOverStores('the strikes in GET /v1/key', (start) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ rateLimitBanAfter: 3, rateLimitBanSeconds: 300 });
  });
  afterAll(() => app.close());

  const at = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
  const getKey = (key: string) => app.get(PATH, { key });
  const list = (key: string) => app.get('/v1/pets', { key });

  it('are those of the last five minutes, and it succeeds during the ban that they begin', async () => {
    const { key } = await app.createKey({ account: 'hammers', choice: SMALL });
    const { key: other } = await app.createKey({ account: 'hammers', choice: SMALL });
    const strikes = async (of = key) => (await getKey(of)).json.strikes;
    for (let sent = 0; sent < 3; sent += 1) await list(key);
    for (let count = 1; count < 3; count += 1) {
      app.clock.advance({ seconds: 2 });
      expectError(await list(key), 429, 'rate_limit_exceeded');
      expect(await strikes()).toEqual({ count, banAfter: 3, bannedUntil: null });
    }
    app.clock.advance({ seconds: 2 });
    expectError(await list(key), 429, 'api_key_banned');
    const banned = { count: 0, banAfter: 3, bannedUntil: at(300) };
    expect(await strikes()).toEqual(banned);
    app.clock.advance({ seconds: 200 });
    expectError(await list(key), 429, 'api_key_banned');
    expect(await strikes()).toEqual(banned);
    expect(await strikes(other)).toEqual({ count: 0, banAfter: 3, bannedUntil: null });
    app.clock.advance({ seconds: 100 });
    expect(await strikes()).toEqual({ count: 0, banAfter: 3, bannedUntil: null });
  });

  it('count for five minutes', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    for (let sent = 0; sent < 3; sent += 1) await list(key);
    app.clock.advance({ seconds: 2 });
    await list(key);
    app.clock.advance({ seconds: 299 });
    expect((await getKey(key)).json.strikes.count).toBe(1);
    app.clock.advance({ seconds: 1 });
    expect((await getKey(key)).json.strikes.count).toBe(0);
  });

  it('name no ban after keys unban', async () => {
    const { id, key } = await app.createKey({ choice: SMALL });
    for (let sent = 0; sent < 6; sent += 1) {
      await list(key);
      app.clock.advance({ seconds: sent < 2 ? 0 : 2 });
    }
    expect((await getKey(key)).json.strikes.bannedUntil).not.toBeNull();
    await app.nest.get(ApiKeysService, { strict: false }).unban(id);
    app.clock.advance({ seconds: 5 });
    expect((await getKey(key)).json.strikes).toEqual({ count: 0, banAfter: 3, bannedUntil: null });
  });
});

describeOverStores('GET /v1/key with bans switched off', (start) => {
  it.each([{ rateLimitBanAfter: 0 }, { rateLimitBanSeconds: 0, rateLimitBanAfter: 2 }])(
    'shows banAfter 0 and counts no strikes with %j',
    async (settings) => {
      const app = await start(settings);
      const { key } = await app.createKey({ choice: SMALL });
      for (let sent = 0; sent < 6; sent += 1) {
        await app.get('/v1/pets', { key });
        app.clock.advance({ seconds: 1.1 });
      }
      expect((await app.get(PATH, { key })).json.strikes).toEqual({
        count: 0,
        banAfter: 0,
        bannedUntil: null,
      });
      await app.close();
    },
  );
});
