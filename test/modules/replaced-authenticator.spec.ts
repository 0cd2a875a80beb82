import { authenticatorContract, startTestStore, type TestStore } from '../../src/testing';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { itKeeps } from '../support/it-keeps';
import { sharedServer } from '../testing/support/shared-server';
import { tokens, tokenOf } from './support/tokens.extension';

const ALL = 'pets:read pets:write orders:read orders:write';

describe("an authenticator of a team's own meets the contract:", () => {
  let store: TestStore;
  let accounts = 0;
  const bearer = (sub: string, scope = ALL) => `Bearer ${tokenOf({ sub, scope })}`;
  beforeAll(async () => {
    store = await startTestStore({ extensions: [tokens], server: sharedServer });
  });
  afterAll(() => store.close());

  itKeeps(
    authenticatorContract(() => ({
      store,
      first: bearer('first'),
      second: bearer('second'),
      readOnly: bearer('reader', 'pets:read'),
      newAccount: () => bearer(`account ${(accounts += 1)}`),
      invalid: `${bearer('first')}x`,
    })),
  );
});

describe("an authenticator of a team's own", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 1, rateLimitBanSeconds: 300 }, { extensions: [tokens] });
  });
  afterAll(() => app.close());

  it('identifies accounts, which it creates at their first request, also at concurrent ones', async () => {
    const key = tokenOf({ sub: 'new at once', scope: ALL });
    const responses = await Promise.all(Array.from({ length: 5 }, () => app.get('/v1/pets', { key })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const accounts = await app.database.query(`SELECT plan FROM accounts WHERE name = 'new at once'`);
    expect(accounts).toEqual([{ plan: 'free' }]);
  });

  it('limits each account by its plan: N + k parallel requests admit N', async () => {
    const key = tokenOf({ sub: 'limited', scope: ALL });
    const requests = Array.from({ length: 65 }, () => app.get('/v1/pets', { key }));
    const admitted = (await Promise.all(requests)).filter(({ status }) => status === 200);
    expect(admitted).toHaveLength(60);
    expect((await app.get('/v1/pets')).status).toBe(200);
  });

  it('gives orders to the account of the token', async () => {
    const { json: pet } = await app.post('/v1/pets', { name: 'Rex', categoryId: 1 });
    const buyer = tokenOf({ sub: 'buyer', scope: ALL });
    const { status, json: order } = await app.post('/v1/store/orders', { petId: pet.id }, { key: buyer });
    expect(status).toBe(201);
    const path = `/v1/store/orders/${order.id}`;
    expect((await app.get(path, { key: buyer })).status).toBe(200);
    const other = tokenOf({ sub: 'other', scope: ALL });
    expectError(await app.get(path, { key: other }), 404, 'order_not_found');
  });

  it('rejects a forged token with 401, and one without the scope with 403', async () => {
    const key = tokenOf({ sub: 'reader', scope: 'pets:read' });
    expectError(await app.get('/v1/pets', { key: `${key}x` }), 401, 'invalid_api_key');
    expectError(await app.get('/v1/pets', { key: undefined }), 401, 'missing_api_key');
    expectError(await app.get('/v1/store/orders', { key }), 403, 'insufficient_scope');
    const body = { name: 'Rex', categoryId: 1 };
    expectError(await app.post('/v1/pets', body, { key }), 403, 'insufficient_scope');
  });

  it("can hand over to the store's own keys", async () => {
    expect((await app.get('/v1/pets')).status).toBe(200);
    expectError(await app.get('/v1/pets', { key: 'ask_test_unknown' }), 401, 'invalid_api_key');
  });

  it('may name keys by any text: their bans survive a restart', async () => {
    const key = tokenOf({ sub: 'greedy', scope: ALL });
    await Promise.all(Array.from({ length: 61 }, () => app.get('/v1/pets', { key })));
    app.clock.advance({ seconds: 2 });
    expectError(await app.get('/v1/pets', { key }), 429, 'api_key_banned');
    await app.restart();
    expectError(await app.get('/v1/pets', { key }), 429, 'api_key_banned');
    app.clock.advance({ seconds: 300 });
    expect((await app.get('/v1/pets', { key })).status).toBe(200);
  });
});
