import { until } from './until';

const TIMERS = ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const;
const OTHERS: FakeableAPI[] = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
];

/**
 * Holds the periodic work of the service: it runs only when a spec advances the time. `jest.useRealTimers()` reverts
 * this. Node's own timers, those of sockets and of `timers/promises`, keep running.
 *
 * @param timeouts true also holds the timeouts of the service and of its database driver
 * @param measured true also holds `performance.now()`
 */
export function holdTimers({ timeouts = false, measured = false } = {}): void {
  const running = timeouts ? [] : TIMERS.filter((name) => name.endsWith('Timeout'));
  const others = OTHERS.filter((name) => !measured || name !== 'performance');
  jest.useFakeTimers({ doNotFake: [...others, ...running] });
}

/** Holds only `performance.now()`, by which the service measures durations. */
export function holdMeasuredTime(): void {
  jest.useFakeTimers({ doNotFake: [...OTHERS.filter((name) => name !== 'performance'), ...TIMERS] });
}

/** Holds the timeouts of one length until `pass`: no other, such as that of a statement, may end. `restoreAllMocks` reverts it. */
export function holdTimeouts(lengthMs: number): { pass: () => void } {
  const { setTimeout } = globalThis;
  const held: (() => void)[] = [];
  const hold = (run: () => void, ms?: number) => {
    if (ms === lengthMs) held.push(run);
    return setTimeout(ms === lengthMs ? () => undefined : run, ms);
  };
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(hold);
  return { pass: () => held.splice(0).forEach((run) => run()) };
}

/** Advances the time. Returns before the work that this starts has ended. */
export function pass({ seconds }: { seconds: number }): void {
  jest.advanceTimersByTime(seconds * 1_000);
}

/** Advances the time second by second until the condition holds. */
export async function passUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await condition()) return true;
    pass({ seconds: 1 });
    return false;
  });
}

/** Advances the time second by second until the work has ended. @returns its result */
export async function passWhile<T>(work: Promise<T>): Promise<T> {
  let hasEnded = false;
  const end = () => (hasEnded = true);
  void work.then(end, end);
  await passUntil(() => hasEnded);
  return work;
}
