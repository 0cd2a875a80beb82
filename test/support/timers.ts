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
 * From here on what runs in the background every so often runs only when a spec lets time pass. Undo it with
 * `jest.useRealTimers()`. Node's own timers, those of sockets and of `timers/promises`, keep running.
 *
 * @param timeouts true to hold the timeouts of the service and of its database driver too
 */
export function holdTimers({ timeouts = false } = {}): void {
  const running = timeouts ? [] : TIMERS.filter((name) => name.endsWith('Timeout'));
  jest.useFakeTimers({ doNotFake: [...OTHERS, ...running] });
}

/** Resolves before the work that begins has ended. */
export function pass({ seconds }: { seconds: number }): void {
  jest.advanceTimersByTime(seconds * 1_000);
}

/** Lets second after second pass until the condition holds. */
export async function passUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await condition()) return true;
    pass({ seconds: 1 });
    return false;
  });
}
