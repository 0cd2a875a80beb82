import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../platform/runtime/time';
import type { Contract } from './contract';
import { type CreateStore, NO_BANS } from './store-under-test';

const OWNER = 'account:1:route';
const LENGTHS_MS = [1, 1_500, MINUTE_MS, HOUR_MS, 366 * 24 * HOUR_MS];

/** The promises of a window that is shorter or longer than a minute, as `@Throttle` asks for it. */
export function windowLengthContract(create: CreateStore): Contract {
  return [
    ...LENGTHS_MS.map((windowMs) => ({
      title: `a window of ${windowMs} ms begins with its first request, admits the limit, and ends after this time`,
      check: () => keepsLengthOf(create, windowMs),
    })),
    {
      title: 'peek returns a window of any length that has not begun as one that begins now',
      check: () => peeksAtLength(create),
    },
    {
      title: 'a window that has begun becomes shorter with its length, but never longer',
      check: () => onlyShortens(create),
    },
  ];
}

async function keepsLengthOf(create: CreateStore, windowMs: number): Promise<void> {
  const { clock, store } = await create(NO_BANS);
  const resetAt = clock.now() + windowMs;
  const take = async () => {
    const { verdict, windows } = await store.take({ owner: OWNER, limits: { perMinute: 2, windowMs } });
    return { verdict, ...windows.minute };
  };
  assert.deepEqual(await take(), { verdict: 'admitted', limit: 2, remaining: 1, resetAt });
  clock.advance({ seconds: (windowMs - 1) / SECOND_MS });
  assert.deepEqual(await take(), { verdict: 'admitted', limit: 2, remaining: 0, resetAt });
  assert.deepEqual(await take(), { verdict: 'limited', limit: 2, remaining: 0, resetAt });
  clock.advance({ seconds: 0.001 });
  const { verdict, remaining } = await take();
  assert.deepEqual({ verdict, remaining }, { verdict: 'admitted', remaining: 1 });
}

async function peeksAtLength(create: CreateStore): Promise<void> {
  const { clock, store } = await create(NO_BANS);
  const { minute } = store.peek(OWNER, { perMinute: 2, windowMs: HOUR_MS });
  assert.deepEqual(minute, { limit: 2, remaining: 2, resetAt: clock.now() + HOUR_MS });
}

async function onlyShortens(create: CreateStore): Promise<void> {
  const { clock, store } = await create(NO_BANS);
  const lengthAt = async (windowMs: number) => {
    const { windows } = await store.take({ owner: OWNER, limits: { perMinute: 9, windowMs } });
    return windows.minute.resetAt - clock.now();
  };
  assert.equal(await lengthAt(HOUR_MS), HOUR_MS);
  assert.equal(await lengthAt(MINUTE_MS), MINUTE_MS);
  assert.equal(await lengthAt(HOUR_MS), MINUTE_MS);
}
