import * as fc from 'fast-check';
import { PLANS } from '../../src/accounts';
import { readConfig } from '../../src/platform/config/config';
import { Bans } from '../../src/rate-limit/bans';
import { tooManyRequests } from '../../src/rate-limit/rate-limit.headers';
import type { RateLimitRepository } from '../../src/rate-limit/rate-limit.repository';
import { type Decision, type OwnerLimits, RateLimitStore } from '../../src/rate-limit/rate-limit.store';
import { TestClock } from '../support/clock';

const FLEET_SECONDS = 1_800;

/** Workers that share one key. All times are in seconds. */
interface Fleet {
  readonly workers: number;
  /** The pauses after admitted requests, in turn. */
  readonly pauses: readonly number[];
  /** Returns how long a worker waits after its nth 429 in a row. Default: as long as `Retry-After` says. */
  readonly wait?: (nth: number) => number;
  readonly limits: OwnerLimits;
}

/** Runs a fleet with the default settings. @returns the second of its first ban */
function firstBan({ workers, pauses, wait, limits }: Fleet): number | undefined {
  const clock = new TestClock();
  const store = new RateLimitStore(clock);
  const bans = new Bans({} as RateLimitRepository, clock, readConfig({}));
  let turn = 0;
  const pause = () => pauses[(turn += 1) % pauses.length]!;
  const fleet = Array.from({ length: workers }, () => ({ at: pause(), rejections: 0 }));
  for (let now = 0; ;) {
    const worker = fleet.reduce((first, each) => (each.at < first.at ? each : first));
    if (worker.at > FLEET_SECONDS) return undefined;
    clock.advance({ seconds: worker.at - now });
    now = worker.at;
    const decision = bans.record('key', store.take('account', limits) as Decision);
    if (decision.verdict === 'banned') return now;
    const isRejected = decision.verdict === 'limited';
    worker.rejections = isRejected ? worker.rejections + 1 : 0;
    const retryAfter = () => Number(tooManyRequests(decision).headers['Retry-After']);
    worker.at += isRejected ? (wait?.(worker.rejections) ?? retryAfter()) : pause();
  }
}

// bans.spec has the responses to a client, and redis-instances.spec the bans of other instances.
describe('with the default settings, a key that several workers share', () => {
  const { free } = PLANS;
  const spentDay = { ...free, perDay: 1 };
  const pauses = [4.9, 0.2, 3.7, 1.1, 2.8, 0.6, 4.3];

  it('is never banned if they wait for Retry-After, up to 16 of any pauses, or 200 that send every 15 s', () => {
    const limits = fc.record({
      perMinute: fc.integer({ min: 1, max: 60 }),
      perDay: fc.constantFrom(99, 1e6),
    });
    const fleetOf = (max: number, maxPause: number) =>
      fc.record({
        workers: fc.integer({ min: 1, max }),
        pauses: fc.array(fc.double({ min: 0.05, max: maxPause, noNaN: true }), { minLength: 1 }),
        limits,
      });
    const fleets = fc.oneof(fleetOf(16, 90), fleetOf(200, 15));
    fc.assert(fc.property(fleets, (fleet) => expect(firstBan(fleet)).toBeUndefined()));
  });

  it.each([5, 10, 20])('is not banned if %d of them back off exponentially', (workers) => {
    const wait = (nth: number) => 2 ** (nth - 1);
    for (const limits of [free, spentDay])
      expect(firstBan({ workers, pauses, wait, limits })).toBeUndefined();
  });

  it.each([
    { workers: 1, seconds: 0.1, limits: spentDay, from: 99, to: 110 },
    { workers: 1, seconds: 0.1, limits: free, from: 99, to: 150 },
    { workers: 20, seconds: 1, limits: free, from: 99, to: 150 },
    { workers: 1, seconds: 0.5, limits: free, from: 99, to: 240 },
  ])('is banned if $workers of them send a request every $seconds s', ({ seconds, from, to, ...fleet }) => {
    const banned = firstBan({ ...fleet, pauses: [seconds], wait: () => seconds });
    expect(banned).toBeGreaterThanOrEqual(from);
    expect(banned).toBeLessThan(to);
  });
});
