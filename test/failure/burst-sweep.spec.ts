import { DEFAULT_SCOPES } from '../../src/app/store';
import { holdMeasuredTime } from '../support/timers';
import { BURST_POOL_SIZE, JOINED, sweepCreations, sweepReads } from './support/burst-sweep';
import { type CutApp, startCutApp } from './support/fault-sweep';

/** A prime, so that successive bursts are cut at varying places of a message. `test:long` cuts after every byte. */
const STRIDE = 53;
/** For bursts with many statements. */
const LONG_STRIDE = 101;

describe('a connection to PostgreSQL that is lost while requests share it', () => {
  let cutApp: CutApp;
  beforeAll(async () => {
    holdMeasuredTime();
    cutApp = await startCutApp(BURST_POOL_SIZE, DEFAULT_SCOPES);
  });
  afterAll(async () => {
    await cutApp.close();
    jest.useRealTimers();
  });

  it('each read has its own result: the pool repeats it', async () => {
    const { cuts, unavailable, pooled } = await sweepReads(cutApp, STRIDE);
    expect(unavailable).toBe(0);
    expect(cuts).toBeGreaterThan(20);
    expect(pooled).toBeGreaterThan(2 * cuts);
  });

  it.each([
    ['the connection of the statement', STRIDE, { sent: JOINED, hasRejected: true }],
    ['every connection', STRIDE, {}],
    ['every connection, and the database rejects a creation', LONG_STRIDE, { hasRejected: true }],
  ])(
    'each joined creation is 201, 503 or its own error, and its response says if the animal exists: %s',
    async (_lost, stride, cut) => {
      const { cuts, joined } = await sweepCreations(cutApp, stride, cut);
      expect(joined).toBeGreaterThan(10);
      expect(cuts).toBeGreaterThanOrEqual(joined);
    },
  );
});
