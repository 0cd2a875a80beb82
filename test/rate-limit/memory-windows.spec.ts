import * as fc from 'fast-check';
import { readConfig } from '../../src/platform/config/config';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/platform/runtime/time';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import type { Charge } from '../../src/rate-limit/rate-limit.store';
import { TestClock } from '../support/clock';

const LENGTHS_MS = [1, MINUTE_MS, 366 * 24 * HOUR_MS];
const DAY_MS = 24 * HOUR_MS;
const ROUTE = 'account:1:route';

function charge(owner: string, perMinute: number, perDay?: number): Charge {
  return { owner, limits: { perMinute, ...(perDay === undefined ? {} : { perDay }) } };
}

function create() {
  const clock = new TestClock();
  return { clock, store: new MemoryRateLimitStore(clock, readConfig({ RATE_LIMIT_BAN_AFTER: '3' })) };
}

// The Redis store decides like this one: redis-store.spec.
describe('windows of the memory store', () => {
  it('a window does not become longer if the clock is set back, and admits no more than the limit', () => {
    const { clock, store } = create();
    const own = charge('account:1', 3, 100);
    store.take(own);
    clock.advance({ seconds: -3_600 });
    const { windows } = store.take(own);
    expect(windows.minute).toEqual({ limit: 3, remaining: 1, resetAt: clock.now() + 60_000 });
    store.take(own);
    expect(store.take(own).verdict).toBe('limited');
    clock.advance({ seconds: -3_600 });
    expect(store.take(own).windows.minute.resetAt).toBe(clock.now() + 60_000);
    clock.advance({ seconds: 30 });
    expect(store.take(own).windows.minute.resetAt).toBe(clock.now() + 30_000);
    clock.advance({ seconds: 30 });
    expect(store.take(own).verdict).toBe('admitted');
  });

  it('a smaller limit applies immediately, keeps the counted requests, and never makes Remaining negative', () => {
    const { store } = create();
    for (let at = 0; at < 5; at += 1) store.take(charge('account:1', 9, 100));
    const rejected = store.take(charge('account:1', 3, 4));
    expect(rejected.verdict).toBe('limited');
    expect([rejected.windows.minute.remaining, rejected.windows.day?.remaining]).toEqual([0, 0]);
    const { windows } = store.take(charge('account:1', 20, 100));
    expect([windows.minute.remaining, windows.day?.remaining]).toEqual([14, 94]);
  });

  it('peek charges nothing, and shows a window that has not begun as one that begins now', () => {
    const { clock, store } = create();
    const limits = { perMinute: 2, windowMs: HOUR_MS };
    const whole = { limit: 2, remaining: 2, resetAt: clock.now() + HOUR_MS };
    for (let at = 0; at < 2; at += 1) expect(store.peek(ROUTE, limits).minute).toEqual(whole);
    store.take({ owner: ROUTE, limits });
    expect(store.peek(ROUTE, limits).minute).toEqual({ ...whole, remaining: 1 });
  });

  it('any sequence of charges, waits and plans admits exactly as many requests as the model', () => {
    const step = fc.record({
      waitMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(90_000), fc.nat(100_000_000)),
      owner: fc.constantFrom('account:1', 'account:2', 'ip:192.0.2.1'),
      perMinute: fc.integer({ min: 1, max: 12 }),
      perDay: fc.integer({ min: 1, max: 30 }),
      times: fc.integer({ min: 1, max: 8 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { store, clock } = create();
        const models = new Map<string, WindowModel>();
        for (const { waitMs, owner, perMinute, perDay, times } of steps) {
          clock.advance({ seconds: waitMs / SECOND_MS });
          const model = models.get(owner) ?? new WindowModel();
          models.set(owner, model);
          const asked = charge(owner, perMinute, owner.startsWith('ip:') ? undefined : perDay);
          for (let at = 0; at < times; at += 1) {
            const { verdict, windows } = store.take(asked);
            expect({ verdict, ...windows }).toEqual(model.take(clock.now(), perMinute, asked.limits.perDay));
          }
        }
      }),
    );
  });

  it.each(LENGTHS_MS)(
    'a window of %d ms begins with its first request, admits the limit, and ends after this time',
    (windowMs) => {
      const { clock, store } = create();
      const resetAt = clock.now() + windowMs;
      const take = () => {
        const { verdict, windows } = store.take({ owner: ROUTE, limits: { perMinute: 2, windowMs } });
        return { verdict, ...windows.minute };
      };
      expect(take()).toEqual({ verdict: 'admitted', limit: 2, remaining: 1, resetAt });
      clock.advance({ seconds: (windowMs - 1) / SECOND_MS });
      expect(take()).toEqual({ verdict: 'admitted', limit: 2, remaining: 0, resetAt });
      expect(take()).toEqual({ verdict: 'limited', limit: 2, remaining: 0, resetAt });
      clock.advance({ seconds: 0.001 });
      expect(take()).toMatchObject({ verdict: 'admitted', remaining: 1 });
    },
  );

  it('a window that has begun becomes shorter with its length, but never longer', () => {
    const { clock, store } = create();
    const lengthAt = (windowMs: number) => {
      const { windows } = store.take({ owner: ROUTE, limits: { perMinute: 9, windowMs } });
      return windows.minute.resetAt - clock.now();
    };
    expect(lengthAt(HOUR_MS)).toBe(HOUR_MS);
    expect(lengthAt(MINUTE_MS)).toBe(MINUTE_MS);
    expect(lengthAt(HOUR_MS)).toBe(MINUTE_MS);
  });

  it('removes owners without a current window and keys without a recent rejection', () => {
    const { clock, store } = create();
    const take = (at: number) => {
      const key = { id: `key ${at}`, unbannedAt: 0 };
      store.take({ owner: `account:${at}`, limits: { perMinute: 1, perDay: 9 }, key });
      store.take({ owner: `ip:${at}`, limits: { perMinute: 1 } });
    };
    // Admitted, rejected, and a strike.
    for (const seconds of [0, 0, 3]) {
      clock.advance({ seconds });
      for (let at = 0; at < 1_000; at += 1) take(at);
    }
    expect(store.sizes()).toEqual({ owners: 2_000, keys: 1_000 });
    clock.advance({ seconds: 2 * 86_400 });
    store.sweep();
    expect(store.sizes()).toEqual({ owners: 0, keys: 0 });
  });
});

/** A simple model of the windows of one owner. */
class WindowModel {
  private minute = { begin: -Infinity, used: 0 };
  private readonly days = new Map<number, number>();

  take(now: number, perMinute: number, perDay: number | undefined) {
    const isCurrent = now < this.minute.begin + MINUTE_MS;
    const minute = isCurrent ? this.minute : { begin: now, used: 0 };
    const today = Math.floor(now / DAY_MS);
    const usedToday = this.days.get(today) ?? 0;
    const isAdmitted = minute.used < perMinute && (perDay === undefined || usedToday < perDay);
    const counted = isAdmitted ? 1 : 0;
    // A window begins with an admitted request.
    if (isAdmitted) this.minute = { begin: minute.begin, used: minute.used + 1 };
    if (perDay !== undefined) this.days.set(today, usedToday + counted);
    return {
      verdict: isAdmitted ? 'admitted' : 'limited',
      minute: windowOf(perMinute, minute.used + counted, minute.begin + MINUTE_MS),
      day: perDay === undefined ? undefined : windowOf(perDay, usedToday + counted, (today + 1) * DAY_MS),
    };
  }
}

function windowOf(limit: number, used: number, resetAt: number) {
  return { limit, remaining: Math.max(0, limit - used), resetAt };
}
