import { authenticatorContract, startTestStore, type TestStore } from '../../src/testing';
import { itKeeps } from '../support/it-keeps';
import { sharedServer } from './support/shared-server';

const BUYER = ['pets:read', 'pets:write', 'orders:read', 'orders:write'];

describe('the authenticator of API keys meets the contract of an authenticator:', () => {
  let store: TestStore;
  let credentials: { first: string; second: string; readOnly: string; expired: string };
  beforeAll(async () => {
    store = await startTestStore({ server: sharedServer });
    const create = async (options: object) =>
      `Bearer ${await store.key({ plan: 'free', scopes: BUYER, ...options })}`;
    credentials = {
      first: await create({}),
      second: await create({}),
      readOnly: await create({ scopes: ['pets:read'] }),
      expired: await create({ expiresAt: new Date(store.clock.now() + 1) }),
    };
  });
  afterAll(() => store.close());

  const contract = authenticatorContract(() => ({
    store,
    ...credentials,
    invalid: `Bearer ask_test_${'0'.repeat(36)}`,
    newAccount: async () => `Bearer ${await store.key({ plan: 'free' })}`,
  }));
  itKeeps(contract);
});
