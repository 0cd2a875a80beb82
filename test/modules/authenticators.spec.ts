import { Global, Injectable, Module, UnauthorizedException } from '@nestjs/common';
import type { Extension, Principal } from '../../src';
import { ApiError } from '../../src/platform/errors/api-error';
import {
  AccountsModule,
  AccountsService,
  Authenticator,
  type Identity,
  limitsOf,
  OWN_AUTHENTICATOR,
} from '../../src/replace';
import { authenticatorContract, startTestStore, type TestStore } from '../../src/testing';
import { ApiKeysService } from '../../src/accounts';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { itKeeps } from '../support/it-keeps';
import { until } from '../support/until';
import { sharedServer } from '../testing/support/shared-server';
import { tokens, tokenOf } from './support/tokens.extension';

const HASHED = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
const UNKNOWN = { code: 'unknown_visitor', status: 401, message: 'Unknown.' };

/** The result of `identify` for the next requests. */
let identify: (principal: Principal) => unknown = (principal) => ({ principal });

@Injectable()
class OddAuthenticator extends Authenticator {
  constructor(private readonly accounts: AccountsService) {
    super();
  }

  override async identify(): Promise<Identity> {
    const { id, name, plan, ...numbers } = await this.accounts.findOrCreate('visitors');
    const limits = limitsOf({ plan, ...numbers });
    const scopes = ['pets:read'];
    return identify({
      accountId: id,
      accountName: name,
      keyId: 'visitor',
      scopes,
      plan,
      limits,
    }) as Identity;
  }
}

@Global()
@Module({
  imports: [AccountsModule],
  providers: [{ provide: OWN_AUTHENTICATOR, useClass: OddAuthenticator }],
  exports: [OWN_AUTHENTICATOR],
})
class OddModule {}

const odd: Extension = { name: 'odd', modules: [OddModule] };

describe("an authenticator of a team's own", () => {
  let store: TestStore;
  let accounts = 0;
  const bearer = (sub: string, scope = 'pets:read pets:write orders:read orders:write') =>
    `Bearer ${tokenOf({ sub, scope })}`;
  beforeAll(async () => {
    store = await startTestStore({ extensions: [tokens], server: sharedServer });
  });
  afterAll(() => store.close());

  // The contract has accounts, limits, orders, scopes and forged credentials.
  itKeeps(
    authenticatorContract(() => ({
      store,
      first: bearer('first'),
      second: bearer('second'),
      readOnly: bearer('reader', 'pets:read'),
      newAccount: () => bearer(`visitor ${(accounts += 1)}`),
      invalid: `${bearer('first')}x`,
    })),
  );

  it("can create accounts and hand over to the store's own keys", async () => {
    const keyOf = async (authorization: string) =>
      (await store.fetch('/v1/key', { headers: { authorization } })).json;
    expect(await keyOf(bearer('new'))).toMatchObject({ account: 'new', plan: 'free', id: 'token of new' });
    expect(await keyOf(`Bearer ${await store.key()}`)).toMatchObject({
      id: expect.stringMatching(/^[\da-f-]{36}$/),
    });
    expect(await keyOf('Bearer ask_test_unknown')).toMatchObject({ code: 'invalid_api_key' });
  });
});

describe("the identity of an authenticator of a team's own", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 1, rateLimitBanSeconds: 300 }, { extensions: [odd] });
  });
  afterAll(() => app.close());

  const get = () => app.get('/v1/pets', { isDocumented: false });

  it.each<[string, Partial<Principal>, object]>([
    ['without label and times', {}, { label: null, createdAt: null, expiresAt: null }],
    [
      'with label and times',
      { label: 'till', createdAt: new Date('2026-01-01'), expiresAt: new Date('2027-01-01') },
      { label: 'till', createdAt: '2026-01-01T00:00:00.000Z', expiresAt: '2027-01-01T00:00:00.000Z' },
    ],
    [
      'with limits without an end',
      { limits: { perMinute: Infinity, perDay: Infinity } },
      { limits: { minute: { limit: Number.MAX_SAFE_INTEGER }, day: { limit: Number.MAX_SAFE_INTEGER } } },
    ],
    // PostgreSQL cannot store these.
    ['with NUL in its key id', { keyId: 'with \0' }, { id: HASHED }],
    ['with a long key id', { keyId: 'x'.repeat(3_000) }, { id: HASHED }],
    ['with a lone surrogate in its key id', { keyId: '\ud800' }, { id: HASHED }],
  ])('is shown by GET /v1/key: a principal %s', async (_, facts, expected) => {
    identify = (principal) => ({ principal: { ...principal, ...facts } });
    const { status, json } = await app.get('/v1/key');
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { id: 'visitor', account: 'visitors', plan: 'free', scopes: ['pets:read'], ...expected },
    });
  });

  it.each<[string, string, () => unknown]>([
    ['returned', UNKNOWN.code, () => ({ rejection: new ApiError(UNKNOWN) })],
    ['thrown', UNKNOWN.code, () => Promise.reject(new ApiError(UNKNOWN))],
    [
      "thrown as Nest's exception",
      'unauthorized',
      () => {
        throw new UnauthorizedException('Unknown.');
      },
    ],
  ])('counts for the client IP and has a challenge if it is a 401, %s', async (_, code, reject) => {
    identify = reject;
    const [first, second] = [await get(), await get()];
    expectError(first, 401, code);
    expect(first.headers['www-authenticate']).toBe('Bearer realm="animal-store"');
    const left = [first, second].map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(left[0]! - left[1]!).toBe(1);
  });

  /** Lets the next requests use this key. */
  const use = (keyId: string) => {
    const limits = { perMinute: 1, perDay: 99 };
    identify = (principal) => ({ principal: { ...principal, keyId, limits } });
  };
  const ban = async (keyId: string) => {
    use(keyId);
    await Promise.all([get(), get()]);
    app.clock.advance({ seconds: 2 });
    expectError(await get(), 429, 'api_key_banned');
  };

  it('can name keys by any text: the ban of each survives a restart', async () => {
    const names = ['auth0|5f7c', 'Zoë 🦊', 'x'.repeat(255), ''];
    for (const keyId of names) await ban(keyId);
    await app.restart();
    for (const keyId of names) {
      use(keyId);
      expectError(await get(), 429, 'api_key_banned');
    }
    expect(app.log.join('')).not.toContain('bans fails');
  });

  it('gets a ban and its end on every instance within 5 s', async () => {
    const beside = await startApp({ rateLimitBanAfter: 1 }, { extensions: [odd], beside: app });
    await ban('token 7');
    const isBanned = async () => (await beside.get('/v1/pets')).json.code === 'api_key_banned';
    await until(isBanned);
    const keys = app.nest.get(ApiKeysService, { strict: false });
    await keys.unban('token 7');
    await until(async () => !(await isBanned()) && (await get()).json.code !== 'api_key_banned');
    await expect(keys.unban('token 8')).rejects.toThrow('There is no key with the id token 8: ');
    await beside.close();
  });
});
