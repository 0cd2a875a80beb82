import type { Decision, OwnerLimits } from '../../../src/rate-limit/rate-limit.store';
import { BanClient } from './ban-client';

/** Workers that share one key. All times are in seconds. */
export interface Fleet {
  readonly workers: number;
  /** Shortest and longest pause of a worker after an admitted request. */
  readonly pause: readonly [number, number];
  /** Returns how long a worker waits after its nth 429 in a row. */
  readonly wait: (retryAfter: number, nth: number, random: () => number) => number;
  readonly limits: OwnerLimits;
}

interface Worker {
  nextAt: number;
  rejections: number;
}

/** Runs a fleet with the default settings for some seconds of the clock. @returns the second of its first ban */
export function firstBan(
  { workers, pause: [shortest, longest], wait, limits }: Fleet,
  seconds: number,
): number | undefined {
  const client = new BanClient({});
  const random = seededRandom();
  const pause = () => shortest + random() * (longest - shortest);
  const fleet = Array.from({ length: workers }, (): Worker => ({ nextAt: pause(), rejections: 0 }));
  let now = 0;
  for (;;) {
    const worker = fleet.reduce((first, each) => (each.nextAt < first.nextAt ? each : first));
    if (worker.nextAt > seconds) return undefined;
    client.wait(worker.nextAt - now);
    now = worker.nextAt;
    const decision = client.take('fleet', limits);
    if (decision.verdict === 'banned') return now;
    worker.rejections = decision.verdict === 'limited' ? worker.rejections + 1 : 0;
    const isRetry = worker.rejections > 0;
    worker.nextAt += isRetry ? wait(retryAfterOf(decision), worker.rejections, random) : pause();
  }
}

/** Returns the value of the Retry-After header: whole seconds, rounded up. */
function retryAfterOf({ windows: { minute, day }, now }: Decision): number {
  const exhausted = [minute, day].filter((usage) => usage?.remaining === 0);
  return Math.ceil((Math.max(...exhausted.map((usage) => usage?.resetAt ?? 0)) - now) / 1_000);
}

/** Generates numbers from 0 to 1, the same in every run (Park and Miller's generator). */
function seededRandom(): () => number {
  const modulus = 2_147_483_647;
  let state = 20_261_121;
  return () => (state = (state * 48_271) % modulus) / modulus;
}
