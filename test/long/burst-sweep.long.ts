import { DEFAULT_SCOPES } from '../../src/app/store';
import {
  BURST_POOL_SIZE,
  type Bursts,
  JOINED,
  sweepCreations,
  sweepReads,
} from '../failure/support/burst-sweep';
import { type CutApp, startCutApp } from '../failure/support/fault-sweep';
import { type OwnServer, useOwnServer } from '../failure/support/own-server';
import { holdMeasuredTime } from '../support/timers';

jest.setTimeout(600_000);

/** Primes, so that successive cuts are at varying places of a message. */
const STRIDE = 3;

describe('a connection to PostgreSQL that is cut at every third byte while requests share it', () => {
  let server: OwnServer;
  let cutApp: CutApp;
  beforeAll(async () => {
    server = await useOwnServer();
    holdMeasuredTime();
    cutApp = await startCutApp(BURST_POOL_SIZE, DEFAULT_SCOPES);
  });
  afterAll(async () => {
    await cutApp.close();
    jest.useRealTimers();
    await server.remove();
  });

  it('each of six pipelined reads has its own result: the pool repeats it', async () => {
    const bursts = await sweepReads(cutApp, STRIDE);
    process.stdout.write(`fault sweep, pipelined reads: ${summary(bursts)}\n`);
    expect(bursts.unavailable).toBe(0);
    expect(bursts.cuts).toBeGreaterThan(300);
  });

  it.each([
    ['their connection', STRIDE, { sent: JOINED, hasRejected: true }],
    // Each connection has its own bytes, so the cuts are many more.
    ['every connection', 7, {}],
    // Many statements, each of the sizes above.
    ['every connection, one creation rejected', 19, { hasRejected: true }],
  ])(
    'each of six joined creations is 201, 503 or its own error, as the database shows: %s',
    async (lost, stride, cut) => {
      const bursts = await sweepCreations(cutApp, stride, cut);
      process.stdout.write(`fault sweep, joined creations, ${lost}: ${summary(bursts)}\n`);
      expect(bursts.joined).toBeGreaterThan(50);
    },
  );
});

/** Describes a sweep. */
function summary({ cuts, responses, unavailable, joined, pooled }: Bursts): string {
  return `${cuts} cuts, ${responses} responses, of these 503 ${unavailable}; statements of the pool ${pooled}; cuts of several creations in a statement ${joined}`;
}
