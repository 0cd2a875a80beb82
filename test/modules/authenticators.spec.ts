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
import { startTestStore, type TestStore } from '../../src/testing';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { sharedServer } from '../testing/support/shared-server';
import { tokens, tokenOf } from './support/tokens.extension';

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
  const bearer = (sub: string, scope = 'pets:read pets:write orders:read orders:write') =>
    `Bearer ${tokenOf({ sub, scope })}`;
  beforeAll(async () => {
    store = await startTestStore({ extensions: [tokens], server: sharedServer });
  });
  afterAll(() => store.close());

  const send = (path: string, authorization: string, body?: object) =>
    store.fetch(path, { headers: { authorization }, ...(body && { method: 'POST', body }) });

  it('gives each request the account and the scopes of its token', async () => {
    const [first, second, reader] = [bearer('first'), bearer('second'), bearer('reader', 'pets:read')];
    for (const forged of [`${first}x`, `${first} ${first}`, 'Bearer __proto__', 'Bearer a.b.c'])
      expectError(await send('/v1/pets', forged), 401, 'invalid_api_key');
    expectError(await store.fetch('/v1/pets', { key: undefined }), 401, 'missing_api_key');
    expectError(await send('/v1/pets', reader, { name: 'Rex', categoryId: 3 }), 403, 'insufficient_scope');
    const { json: pet } = await send('/v1/pets', first, { name: 'Rex', categoryId: 3 });
    const { json: order } = await send('/v1/store/orders', first, { petId: pet.id });
    expect((await send(`/v1/store/orders/${order.id}`, first)).status).toBe(200);
    expectError(await send(`/v1/store/orders/${order.id}`, second), 404, 'order_not_found');
  });

  it('counts two concurrent first requests of an account in one window', async () => {
    const responses = await Promise.all([1, 2].map(() => send('/v1/pets', bearer('visitor'))));
    const left = responses.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(Math.abs(left[0]! - left[1]!)).toBe(1);
  });

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
    app = await startApp({ rateLimitBanAfter: 2, rateLimitBanSeconds: 300 }, { extensions: [odd] });
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
  ])('is shown by GET /v1/key: a principal %s', async (_, facts, expected) => {
    identify = (principal) => ({ principal: { ...principal, ...facts } });
    const { status, json } = await app.get('/v1/key');
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { id: 'visitor', account: 'visitors', plan: 'free', scopes: ['pets:read'], ...expected },
    });
  });

  it.each<[string, Partial<Principal>]>([
    ['limits without an end', { limits: { perMinute: Infinity, perDay: 5 } }],
    ['limits that are no numbers', { limits: { perMinute: 5, perDay: NaN } }],
    ['NUL in its key id', { keyId: 'with \0' }],
    ['a key id over 255 characters', { keyId: 'x'.repeat(256) }],
    ['a lone surrogate in its key id', { keyId: '\ud800' }],
  ])('is 500 if its principal has %s; the log names the authenticator', async (_, facts) => {
    identify = (principal) => ({ principal: { ...principal, ...facts } });
    const logged = app.log.length;
    expectError(await get(), 500, 'internal_error');
    expect(app.log.slice(logged).join('')).toContain(
      'OddAuthenticator must return a keyId of at most 255 well-formed characters without NUL, and finite limits.',
    );
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
});
