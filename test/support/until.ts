import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** A guard against hanging, not a promise of speed: the machine may be busy. */
const LIMIT_MS = 120_000;
const POLL_MS = 10;

/** Specs replace `performance.now()`, and the date of a machine may be corrected during a wait. */
const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Polls until the condition holds; throws after `limitMs`. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const deadline = monotonicMs() + limitMs;
  while (!(await condition())) {
    if (monotonicMs() > deadline) throw new Error(`the condition did not hold within ${limitMs} ms`);
    await sleep(POLL_MS);
    // Node.js runs all timers that are due before it reads a socket: slow conditions would keep it from reading.
    await nextTurn();
  }
}
