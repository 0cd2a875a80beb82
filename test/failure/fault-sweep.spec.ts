import { type CutApp, startCutApp, sweepOrders, sweepPets } from './support/fault-sweep';

/** No divisor of anything: each run of a message is hit somewhere. `test:long` takes every byte. */
const STRIDE = 53;

describe('a connection to PostgreSQL that is cut in the middle of a request', () => {
  let cutApp: CutApp;
  beforeAll(async () => {
    cutApp = await startCutApp();
  });
  afterAll(() => cutApp.close());

  it('POST /v1/pets is 201 or 503, and the animal there once or not at all, as the answer says', async () => {
    expect((await sweepPets(cutApp, STRIDE)).length).toBeGreaterThan(10);
  });

  it('POST /v1/store/orders with an Idempotency-Key is 201 or 503, and sent again 201 with the only order', async () => {
    expect((await sweepOrders(cutApp, STRIDE)).length).toBeGreaterThan(15);
  });
});
