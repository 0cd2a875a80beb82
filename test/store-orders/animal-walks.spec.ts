import { DEFAULT_SCOPES } from '../../src/app/store';
import { PetHolds } from '../../src/pets';
import { PetsRepository } from '../../src/pets/pets.repository';
import { petScopes } from '../../src/pets/pets.scopes';
import { orderScopes } from '../../src/store-orders/store-orders.scopes';
import { startApp, type TestApp } from '../support/app';
import { type AnimalSubject, HELD_WITHOUT_ANIMAL, walkWithAnimals } from './support/animal-walks';

const WALKS = { numRuns: 5, maxSteps: 20 };
/** The negative controls end at the first walk that finds the fault. */
const MAX_WALKS_OF_CONTROL = { numRuns: 100, maxSteps: 30 };

const OUTCOMES = [
  'updatePet 200',
  'updatePet 403',
  'updatePet 404',
  'updatePet 409',
  'updatePet 412',
  'deletePet 204',
  'deletePet 409',
  'placeOrder 201',
  'placeOrder 404',
  'placeOrder 409',
  'updateOrder 200',
  'updateOrder 403',
  'updateOrder 404',
  'updateOrder 409',
  'updateOrder 412',
];

async function subjectOf(app: TestApp): Promise<AnimalSubject> {
  const keyOf = async (account: string, isStaff: boolean) => {
    const scopes = isStaff ? [petScopes.read, petScopes.manage, orderScopes.manage] : DEFAULT_SCOPES;
    const choice = { plan: 'enterprise', perMinute: 1e9, perDay: 1e9 } as const;
    return { account, isStaff, key: (await app.createKey({ account, scopes, choice })).key };
  };
  return {
    url: app.url,
    buyers: [await keyOf('shop', false), await keyOf('zoo', false), await keyOf('farm', false)],
    staff: [await keyOf('the store', true), await keyOf('the store', true)],
  };
}

describe('10 concurrent clients that create, change, remove and order animals and update orders at random', () => {
  let app: TestApp;
  beforeEach(async () => {
    app = await startApp({ databasePoolWaitMs: 30_000 });
  });
  afterEach(() => app.close());

  it('get responses that some order of their requests explains; of changes with one ETag at most one succeeds', async () => {
    const counts = await walkWithAnimals(await subjectOf(app), WALKS);
    // Proves that every kind of outcome occurred.
    const missing = OUTCOMES.filter((outcome) => counts[outcome] === undefined);
    expect(missing).toEqual([]);
    expect(await app.database.query(HELD_WITHOUT_ANIMAL)).toEqual([]);
  });

  it.each([
    ['the lock of the row of an animal', removeLock],
    ['the hold of an open order', removeHold],
  ])('get other responses if %s is removed (negative control)', async (_what, remove) => {
    remove(app);
    const fault: unknown = await walkWithAnimals(await subjectOf(app), MAX_WALKS_OF_CONTROL).catch(
      (error: Error) => error.cause,
    );
    // The second is an error code of another operation.
    expect(String(fault)).toMatch(/no order of these requests|openapi.json does not have this response/);
  });
});

function removeLock(app: TestApp): void {
  const pets = app.nest.get(PetsRepository, { strict: false });
  pets.lock = async (id, transaction) => (await pets.find(id, transaction)) ?? null;
}

function removeHold(app: TestApp): void {
  app.nest.get(PetHolds, { strict: false }).isHeld = () => Promise.resolve(false);
}
