import { UnauthorizedException } from '@nestjs/common';
import type { Principal } from '../../src';
import { ApiError } from '../../src/api/errors/api-error';
import { result, tokens } from '../example/support/tokens.extension';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const ALL = ['pets:read', 'pets:write', 'orders:read', 'orders:write', 'events:read'];
const UNKNOWN = { code: 'unknown_visitor', status: 401, message: 'Unknown.' };
const isDocumented = false;

const tokenOf = (name: string, scopes = ALL) => `token-${name}=${scopes.join()}`;

describe("an authenticator of a team's own", () => {
  let app: TestApp;
  beforeAll(async () => {
    const settings = { rateLimitBanAfter: 2, rateLimitBanSeconds: 300 };
    app = await startApp(settings, { extensions: [tokens] });
  });
  beforeEach(() => (result.of = result.asGiven));
  afterAll(() => app.close());

  const get = (key = tokenOf('visitor')) => app.get('/v1/pets', { key, isDocumented });
  const remaining = async (responses: readonly Promise<Awaited<ReturnType<typeof get>>>[]) =>
    (await Promise.all(responses)).map(({ headers }) => Number(headers['x-ratelimit-remaining']));

  it('gives each request the account and the scopes of its token', async () => {
    const [first, second, reader] = [tokenOf('first'), tokenOf('second'), tokenOf('reader', ['pets:read'])];
    for (const forged of [`x${first}`, `${first} ${first}`, '__proto__'])
      expectError(await get(forged), 401, 'invalid_api_key');
    expectError(await app.get('/v1/pets', { key: undefined }), 401, 'missing_api_key');
    const pet = { name: 'Rex', categoryId: 3 };
    expectError(await app.post('/v1/pets', pet, { key: reader }), 403, 'insufficient_scope');
    const { id: petId } = (await app.post('/v1/pets', pet, { key: first })).json;
    const { id } = (await app.post('/v1/store/orders', { petId }, { key: first })).json;
    expect((await app.get(`/v1/store/orders/${id}`, { key: first })).status).toBe(200);
    expectError(await app.get(`/v1/store/orders/${id}`, { key: second }), 404, 'order_not_found');
  });

  it('counts two concurrent first requests of an account in one window', async () => {
    const [one, other] = await remaining([get(tokenOf('concurrent')), get(tokenOf('concurrent'))]);
    expect(Math.abs(one! - other!)).toBe(1);
  });

  it("can hand over to the store's own keys", async () => {
    const { id, key } = await app.createKey();
    expect((await app.get('/v1/key', { key })).json).toMatchObject({ id });
    expectError(await get('ask_test_unknown'), 401, 'invalid_api_key');
  });

  it('is shown by GET /v1/key with the label and times of its principal, or null', async () => {
    const times = { createdAt: '2026-01-01T00:00:00.000Z', expiresAt: '2027-01-01T00:00:00.000Z' };
    const facts = {
      label: 'till',
      createdAt: new Date(times.createdAt),
      expiresAt: new Date(times.expiresAt),
    };
    const show = async () => (await app.get('/v1/key', { key: tokenOf('new', ['pets:read']) })).json;
    const own = { id: 'token of new', account: 'new', plan: 'free', scopes: ['pets:read'] };
    expect(await show()).toMatchObject({ ...own, label: null, createdAt: null, expiresAt: null });
    result.of = (principal) => ({ principal: { ...principal, ...facts } });
    expect(await show()).toMatchObject({ ...own, label: 'till', ...times });
  });

  it.each(['deadbeef'.repeat(4) + 'dead', '-'.repeat(36)])('may give a key the id %s', async (keyId) => {
    result.of = (principal) => ({ principal: { ...principal, keyId } });
    const options = { key: tokenOf('admin', ['admin']), isDocumented };
    expect((await app.post('/v1/accounts', { name: keyId }, options)).status).toBe(201);
  });

  it.each<[string, Partial<Principal>]>([
    ['limits without an end', { limits: { perMinute: Infinity, perDay: 5 } }],
    ['limits that are no numbers', { limits: { perMinute: 5, perDay: NaN } }],
    ['NUL in its key id', { keyId: 'with \0' }],
    ['a key id over 255 characters', { keyId: 'x'.repeat(256) }],
    ['a lone surrogate in its key id', { keyId: '\ud800' }],
  ])('is 500 if its principal has %s; the log names the authenticator', async (_, facts) => {
    result.of = (principal) => ({ principal: { ...principal, ...facts } });
    const logged = app.log.length;
    expectError(await get(), 500, 'internal_error');
    expect(app.log.slice(logged).join('')).toContain(
      'TokenAuthenticator must return a keyId of at most 255 well-formed characters without NUL, and finite limits.',
    );
  });

  it.each<[string, string, () => unknown]>([
    ['returned', UNKNOWN.code, () => ({ rejection: new ApiError(UNKNOWN) })],
    ['thrown', UNKNOWN.code, () => Promise.reject(new ApiError(UNKNOWN))],
    ["thrown as Nest's", 'unauthorized', () => Promise.reject(new UnauthorizedException('Unknown.'))],
  ])('counts for the client IP and has a challenge if it is a 401, %s', async (_, code, reject) => {
    result.of = reject;
    const first = await get();
    expectError(first, 401, code);
    expect(first.headers['www-authenticate']).toBe('Bearer realm="animal-store"');
    const [one, other] = await remaining([Promise.resolve(first), get()]);
    expect(one! - other!).toBe(1);
  });

  it('can name keys by any text: the ban of each survives a restart', async () => {
    const ask = (keyId: string) => {
      result.of = (principal) => ({
        principal: { ...principal, keyId, limits: { perMinute: 1, perDay: 99 } },
      });
      return get(tokenOf('banned'));
    };
    const names = ['auth0|5f7c', 'Zoë 🦊', 'x'.repeat(255), ''];
    for (const keyId of names) {
      await Promise.all([ask(keyId), ask(keyId)]);
      app.clock.advance({ seconds: 2 });
      expectError(await ask(keyId), 429, 'api_key_banned');
    }
    await app.restart();
    for (const keyId of names) expectError(await ask(keyId), 429, 'api_key_banned');
    expect(app.log.join('')).not.toContain('bans fails');
  });
});
