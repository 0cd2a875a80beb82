import * as fc from 'fast-check';
import type { Clock } from '../../src/platform/runtime/clock';
import type { Charge, RateLimitStore } from '../../src/rate-limit/rate-limit.store';
import type { TestClock } from '../support/clock';

/** A store under test, with a clock that the spec moves. */
export interface StoreUnderTest {
  readonly store: RateLimitStore;
  readonly clock: Clock & TestClock;
}

type Step =
  | { readonly wait: number }
  | {
      readonly owner: number;
      readonly perMinute: number;
      readonly perDay: number;
      readonly times: number;
    };

/** The number of the owner that is an address, without a daily limit. */
const ADDRESS = 2;

const limit = fc.integer({ min: 1, max: 12 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      wait: fc.oneof(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 100_000_000 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      owner: fc.integer({ min: 0, max: 2 }),
      perMinute: limit,
      perDay: fc.integer({ min: 1, max: 30 }),
      times: fc.integer({ min: 1, max: 8 }),
    }),
  },
);

/** A simple model of a store: it keeps every admitted request with the windows that counted it. */
class Model {
  private minutes: { begin: number; used: number }[] = [];
  private readonly days = new Map<number, number>();

  take(now: number, perMinute: number, perDay: number | undefined) {
    const minute = this.minutes.find(({ begin }) => now < begin + 60_000) ?? { begin: now, used: 0 };
    const today = Math.floor(now / 86_400_000);
    const usedToday = this.days.get(today) ?? 0;
    const isAdmitted = minute.used < perMinute && (perDay === undefined || usedToday < perDay);
    if (isAdmitted) {
      minute.used += 1;
      this.minutes = [minute];
      if (perDay !== undefined) this.days.set(today, usedToday + 1);
    }
    return {
      verdict: isAdmitted ? 'admitted' : 'limited',
      minute: {
        limit: perMinute,
        remaining: Math.max(0, perMinute - minute.used),
        resetAt: minute.begin + 60_000,
      },
      day:
        perDay === undefined
          ? undefined
          : {
              limit: perDay,
              remaining: Math.max(0, perDay - (this.days.get(today) ?? 0)),
              resetAt: (today + 1) * 86_400_000,
            },
    };
  }
}

/** Creates an empty store with the settings. */
export type CreateStore = (settings?: Record<string, string>) => Promise<StoreUnderTest> | StoreUnderTest;

/**
 * The contract of windows. The spec of each RateLimitStore runs it.
 *
 * @param numRuns runs of the property
 */
export function storeContract(name: string, create: CreateStore, numRuns = 300): void {
  describe(`${name} meets the contract of a RateLimitStore:`, () => {
    const charge = (owner: string, perMinute: number, perDay?: number): Charge => ({
      owner,
      limits: { perMinute, ...(perDay === undefined ? {} : { perDay }) },
    });

    it('N + k concurrent requests: exactly N are admitted, each with another Remaining', async () => {
      const { store } = await create();
      const decisions = await Promise.all(
        Array.from({ length: 250 }, async () => store.take(charge('account:1', 100, 1_000))),
      );
      const admitted = decisions.filter(({ verdict }) => verdict === 'admitted');
      expect(admitted).toHaveLength(100);
      expect(new Set(admitted.map(({ windows }) => windows.minute.remaining)).size).toBe(100);
    });

    it('a window does not become longer if the clock is set back, and admits no more than the limit', async () => {
      const { clock, store } = await create();
      const own = charge('account:1', 3, 100);
      await store.take(own);
      clock.advance({ seconds: -3_600 });
      expect((await store.take(own)).windows.minute).toEqual({
        limit: 3,
        remaining: 1,
        resetAt: clock.now() + 60_000,
      });
      await store.take(own);
      expect((await store.take(own)).verdict).toBe('limited');
      clock.advance({ seconds: -3_600 });
      expect((await store.take(own)).windows.minute.resetAt).toBe(clock.now() + 60_000);
      clock.advance({ seconds: 30 });
      expect((await store.take(own)).windows.minute.resetAt).toBe(clock.now() + 30_000);
      clock.advance({ seconds: 30 });
      expect((await store.take(own)).verdict).toBe('admitted');
    });

    it('a request exactly at midnight is counted in the day that begins', async () => {
      const { clock, store } = await create();
      const own = charge('account:1', 5, 1);
      await store.take(own);
      clock.advance({ seconds: 12 * 3_600 });
      const { verdict, windows } = await store.take(own);
      expect(verdict).toBe('admitted');
      expect(windows.day).toEqual({ limit: 1, remaining: 0, resetAt: clock.now() + 86_400_000 });
    });

    it('a smaller limit applies immediately, keeps the counted requests, and never makes Remaining negative', async () => {
      const { store } = await create();
      for (let at = 0; at < 5; at += 1) await store.take(charge('account:1', 9, 100));
      const refused = await store.take(charge('account:1', 3, 4));
      expect(refused.verdict).toBe('limited');
      expect(refused.windows.minute.remaining).toBe(0);
      expect(refused.windows.day?.remaining).toBe(0);
      const { windows } = await store.take(charge('account:1', 20, 100));
      expect([windows.minute.remaining, windows.day?.remaining]).toEqual([14, 94]);
    });

    it('peek charges nothing', async () => {
      const { store } = await create();
      await store.take(charge('account:1', 5, 9));
      const before = store.peek('account:1', { perMinute: 5, perDay: 9 });
      expect(before.minute.remaining).toBe(4);
      expect(before.day?.remaining).toBe(8);
      expect(store.peek('account:1', { perMinute: 5, perDay: 9 })).toEqual(before);
    });

    it('any sequence of charges, waits and plans admits exactly as many requests as the model', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
          const { store, clock } = await create();
          const models = [new Model(), new Model(), new Model()];
          for (const each of steps) {
            if ('wait' in each) {
              clock.advance({ seconds: each.wait / 1_000 });
              continue;
            }
            for (let time = 0; time < each.times; time += 1) {
              const perDay = each.owner === ADDRESS ? undefined : each.perDay;
              const { verdict, windows } = await store.take(
                charge(`owner:${each.owner}`, each.perMinute, perDay),
              );
              const expected = models[each.owner]!.take(clock.now(), each.perMinute, perDay);
              expect({ verdict, ...windows }).toEqual(expected);
            }
          }
        }),
        { numRuns },
      );
    });
  });
}
