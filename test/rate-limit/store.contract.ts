import * as fc from 'fast-check';
import type { Clock } from '../../src/clock';
import type { Charge, RateLimitStore } from '../../src/rate-limit/rate-limit.store';
import type { TestClock } from '../support/clock';

/** A store under test, on a clock that the spec moves. */
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

/** One of the owners is an address, which has no daily limit. */
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

/** As simple as the promise itself: every admitted request is remembered, with the windows that it was counted in. */
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

/** What every RateLimitStore promises. Each implementation runs it in a spec of its own. */
export function storeContract(name: string, create: () => Promise<StoreUnderTest> | StoreUnderTest): void {
  describe(`${name} keeps the contract of a RateLimitStore:`, () => {
    const charge = (owner: string, perMinute: number, perDay?: number): Charge => ({
      owner,
      limits: { perMinute, ...(perDay === undefined ? {} : { perDay }) },
    });

    it('of N + k requests at once exactly N are admitted, each with another number remaining', async () => {
      const { store } = await create();
      const decisions = await Promise.all(
        Array.from({ length: 250 }, async () => store.take(charge('account:1', 100, 1_000))),
      );
      const admitted = decisions.filter(({ verdict }) => verdict === 'admitted');
      expect(admitted).toHaveLength(100);
      expect(new Set(admitted.map(({ windows }) => windows.minute.remaining)).size).toBe(100);
    });

    it('peek charges nothing', async () => {
      const { store } = await create();
      await store.take(charge('account:1', 5, 9));
      const before = store.peek('account:1', { perMinute: 5, perDay: 9 });
      expect(before.minute.remaining).toBe(4);
      expect(before.day?.remaining).toBe(8);
      expect(store.peek('account:1', { perMinute: 5, perDay: 9 })).toEqual(before);
    });

    it('whatever is asked, waited and changed: never one admitted too many, never one too few', async () => {
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
        { numRuns: 300 },
      );
    });
  });
}
