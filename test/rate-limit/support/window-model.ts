import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/time/time';
import type { Counter, OwnerLimits, RateLimitStore } from '../../../src/rate-limit/rate-limit.store';
import { TestClock } from '../../support/clock';

const NOON = new TestClock().now();

/** The seconds to wait, the owner, its limits, and how many requests it sends. */
type Step = readonly [waitSeconds: number, owner: string, limits: OwnerLimits, times: number];

export const limit = (max: number) => fc.integer({ min: 1, max });
/** No window ends while a slow spec runs: Redis forgets a window by its own time. */
const wait = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  fc.integer({ min: -1, max: 4 }),
  fc.nat(5_000),
);
const waitSeconds = wait.map((part) => 20 * part);
const length = fc.constantFrom(20_000, MINUTE_MS, HOUR_MS, 366 * DAY_MS);
const name = fc.constantFrom('one', 'two');
const ofPlan = fc.record({ perMinute: limit(12), perDay: limit(30) });
const ofRoute = fc.record({ perMinute: limit(12), windowMs: length });
const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(waitSeconds, name, ofPlan, limit(6)),
  fc.tuple(waitSeconds, fc.constant('route'), ofRoute, limit(6)),
);
export const of = (perMinute: number, perDay: number): OwnerLimits => ({ perMinute, perDay });
const HOUR_BACK = -3_600;
const PAST_INCIDENTS: Step[][] = [
  // A clock that is set back makes no window longer, and a full one ends within its length.
  [0, HOUR_BACK, 0, 0, 60].map((seconds) => [seconds, 'one', of(3, 100), 1]),
  [0, HOUR_BACK, 40, 20].map((seconds) => [seconds, 'one', of(1, 9), 1]),
  // A smaller plan applies immediately, keeps what was counted, and leaves no negative rest.
  [of(9, 100), of(9, 100), of(9, 100), of(3, 4), of(20, 100)].map((limits) => [0, 'one', limits, 2]),
  // A window that has begun becomes shorter with its length, but never longer.
  [HOUR_MS, MINUTE_MS, HOUR_MS].map((windowMs) => [0, 'route', { perMinute: 9, windowMs }, 1]),
];

/**
 * Compares the stores, which share their counters, with the model. A clock that is set back is that of one of them, and so is
 * a length that changes: an instance that knows the longer window takes it for one that Redis has lost, and keeps it.
 */
export async function expectModel(clock: TestClock, stores: readonly RateLimitStore[], numRuns: number) {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 25 }), async (steps) => {
      runs += 1;
      clock.advance({ seconds: (NOON - clock.now()) / 1_000 });
      const lengths = new Set(steps.flatMap(([, , { windowMs }]) => windowMs ?? []));
      const isOfOne = lengths.size > 1 || steps.some(([seconds]) => seconds < 0);
      const used = stores.slice(0, isOfOne ? 1 : 2);
      const models = new Map<string, Model>();
      let turn = 0;
      for (const [seconds, ownerName, limits, times] of steps) {
        clock.advance({ seconds });
        const owner = `${ownerName}:${runs}`;
        const model = models.get(owner) ?? new Model();
        models.set(owner, model);
        for (let at = 0; at < times; at += 1) {
          const store = used[(turn += 1) % used.length]!;
          const seen = (await store.look(owner, limits)).windows;
          const { verdict, windows } = await store.take(owner, limits);
          const shown = model.shown(clock.now(), limits);
          const taken = model.take(clock.now(), limits);
          expect([seen, { verdict, windows }]).toEqual([shown, taken]);
          expect(store.peek(owner, limits)).toEqual(model.shown(clock.now(), limits));
        }
      }
    }),
    { numRuns, examples: PAST_INCIDENTS.map((steps) => [steps]) },
  );
}

/** The windows of one owner. A window begins with an admitted request, and ends no later than a new one would. */
class Model {
  private minute: Counter = { used: 0, endsAt: 0 };
  private day: Counter = { used: 0, endsAt: 0 };

  shown(now: number, limits: OwnerLimits) {
    this.advance(now, limits);
    const windowOf = ({ used, endsAt }: Counter, most: number) => {
      return { limit: most, remaining: Math.max(0, most - used), resetAt: endsAt };
    };
    const { perMinute, perDay } = limits;
    return {
      minute: windowOf(this.minute, perMinute),
      day: perDay === undefined ? undefined : windowOf(this.day, perDay),
    };
  }

  take(now: number, limits: OwnerLimits) {
    const { minute, day } = this.shown(now, limits);
    const isAdmitted = minute.remaining > 0 && day?.remaining !== 0;
    for (const window of ['minute', 'day'] as const)
      if (isAdmitted) this[window] = { ...this[window], used: this[window].used + 1 };
    return { verdict: isAdmitted ? 'admitted' : 'limited', windows: this.shown(now, limits) };
  }

  private advance(now: number, { windowMs = MINUTE_MS }: OwnerLimits): void {
    const at = ({ used, endsAt }: Counter, newEnd: number) =>
      used === 0 || endsAt <= now ? { used: 0, endsAt: newEnd } : { used, endsAt: Math.min(endsAt, newEnd) };
    this.minute = at(this.minute, now + windowMs);
    this.day = at(this.day, (Math.floor(now / DAY_MS) + 1) * DAY_MS);
  }
}
