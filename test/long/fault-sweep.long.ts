import { isOutcomeUnknown } from '../failure/support/expect-unavailable';
import { type Cut, type CutApp, startCutApp, sweepPets } from '../failure/support/fault-sweep';
import { type OwnServer, useOwnServer } from '../failure/support/own-server';
import type { HttpResponse } from '../support/http';
import { CHANGES, sweepChanges } from './support/change-sweep';
import { sweepOrders } from './support/order-sweep';

/** Larger transactions have more bytes. Primes, so that successive cuts are at varying places of a message. */
const STRIDE_OF_ORDERS = 3;
const STRIDE_OF_CHANGES = 7;

jest.setTimeout(300_000);

describe('a connection to PostgreSQL that is cut within a request, in each direction', () => {
  let server: OwnServer;
  let cutApp: CutApp;
  beforeAll(async () => {
    server = await useOwnServer();
    cutApp = await startCutApp();
  });
  afterAll(async () => {
    await cutApp.close();
    await server.remove();
  });

  const report = (request: string, cuts: readonly Cut[]) =>
    process.stdout.write(`fault sweep, ${request}: ${summary(cuts)}\n`);

  it('POST /v1/pets, cut after each byte, returns 201 or 503, and stores one animal or none, as the response says', async () => {
    const cuts = await sweepPets(cutApp, 1);
    report('POST /v1/pets', cuts);
    expect(cuts.length).toBeGreaterThan(200);
  });

  it(`POST /v1/store/orders with an Idempotency-Key, cut at every ${STRIDE_OF_ORDERS}rd byte, returns 201 or 503, and a retry 201 with the only order`, async () => {
    const cuts = await sweepOrders(cutApp, STRIDE_OF_ORDERS);
    report('POST /v1/store/orders', cuts);
    expect(cuts.length).toBeGreaterThan(400);
  });

  it.each(CHANGES)(
    `$operation, cut at every ${STRIDE_OF_CHANGES}th byte, returns $success or 503, and changes animal and order as the response says`,
    async (change) => {
      const cuts = await sweepChanges(cutApp, STRIDE_OF_CHANGES, change);
      report(change.operation, cuts);
      expect(cuts.length).toBeGreaterThan(100);
    },
  );
});

/** Describes a sweep: the number of cuts by response. */
function summary(cuts: readonly Cut[]): string {
  const count = (test: (response: HttpResponse) => boolean) =>
    cuts.filter(({ response }) => test(response)).length;
  return `${cuts.length} cuts: 2xx ${count(({ status }) => status < 300)}, 503 ${count(({ status }) => status === 503)}, of these of unknown outcome ${count(isOutcomeUnknown)}`;
}
