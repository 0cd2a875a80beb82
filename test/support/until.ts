import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 10_000;
const POLL_MS = 10;

/** Looks again and again until the condition holds, for 10 s at most. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await sleep(POLL_MS);
  }
}
