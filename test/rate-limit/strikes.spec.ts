import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import * as fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { PLANS } from '../../src/auth';
import { readConfig } from '../../src/config/config';
import { RateLimitStore } from '../../src/rate-limit';
import { Bans } from '../../src/rate-limit/bans';
import type { Decision, OwnerLimits } from '../../src/rate-limit/rate-limit.store';
import { type RouteLimitGuard, ThrottleGuard, tooManyRequests } from '../../src/rate-limit/throttle.guard';
import { TestClock } from '../support/clock';

/** A key with a clock of its own, whose requests are decided without HTTP. */
class KeyAlone {
  private readonly clock = new TestClock();
  private readonly begin = this.clock.now();
  private readonly bans: Bans;
  private readonly guard: ThrottleGuard;

  constructor(
    private readonly plan: OwnerLimits,
    environment: Record<string, string> = {},
  ) {
    const config = readConfig(environment);
    this.bans = new Bans(this.clock, config);
    const routes = { unlimited: { has: () => true } } as unknown as RouteLimitGuard;
    this.guard = new ThrottleGuard(new RateLimitStore(this.clock), this.bans, routes, config);
  }

  /** @param ms the time since the beginning */
  sendAt(ms: number): Decision {
    this.clock.advance({ seconds: (this.begin + ms - this.clock.now()) / 1_000 });
    const principal = { accountId: 1, keyId: 'key', limits: this.plan };
    const request = { principal, routeOptions: { config: {} }, raw: {} } as unknown as FastifyRequest;
    const reply = { headers: () => undefined };
    try {
      // Without Redis the decision is synchronous.
      void this.guard.canActivate(new ExecutionContextHost([request, reply]));
    } catch {
      // The 429 of the decision.
    }
    return request.rateLimit!;
  }

  standing = () => this.bans.standing('key');
}

/** Runs workers that share a key for ten minutes. All times are in seconds. @returns that of the first ban */
function firstBan(
  workers: number,
  pauses: readonly number[],
  plan: OwnerLimits,
  wait: (nth: number, retryAfter: number) => number,
): number | undefined {
  const key = new KeyAlone(plan);
  let turn = 0;
  const pause = () => pauses[(turn += 1) % pauses.length]!;
  const fleet = Array.from({ length: workers }, () => ({ at: pause(), rejections: 0 }));
  for (;;) {
    const worker = fleet.reduce((first, each) => (each.at < first.at ? each : first));
    if (worker.at > 600) return undefined;
    const decision = key.sendAt(worker.at * 1_000);
    if (decision.verdict === 'banned') return worker.at;
    const isRejected = decision.verdict === 'limited';
    worker.rejections = isRejected ? worker.rejections + 1 : 0;
    const retryAfter = () => Number(tooManyRequests(decision).headers['Retry-After']);
    worker.at += isRejected ? wait(worker.rejections, retryAfter()) : pause();
  }
}

describe('strikes', () => {
  it('are the 429s of a window, at most one a second; three within five minutes ban the key, at any times', () => {
    const expectModel = (gaps: readonly number[]) => {
      const key = new KeyAlone(
        { perMinute: 1 },
        { RATE_LIMIT_BAN_AFTER: '3', RATE_LIMIT_BAN_SECONDS: '200' },
      );
      let [now, windowEnd, banEnd, strikes] = [0, 0, 0, [] as number[]];
      for (const gap of gaps) {
        now += gap;
        strikes = strikes.filter((at) => at > now - 300_000);
        let expected = now < banEnd ? 'banned' : now < windowEnd ? 'limited' : 'admitted';
        if (expected === 'admitted') windowEnd = now + 60_000;
        if (expected === 'limited' && now - (strikes.at(-1) ?? -1_000) >= 1_000) strikes.push(now);
        if (strikes.length === 3) [expected, banEnd, strikes] = ['banned', now + 200_000, []];
        const { verdict } = key.sendAt(now);
        const { strikes: count, bannedUntil } = key.standing();
        expect([verdict, count, bannedUntil !== undefined]).toEqual([expected, strikes.length, now < banEnd]);
      }
    };
    const gaps = fc.array(fc.oneof(fc.constantFrom(0, 999, 1_000, 59_000, 300_000), fc.nat(400_000)));
    const examples: [number[]][] = [
      // Concurrent requests are one strike, and a 429 of a ban does not count.
      [[0, 0, 0, 999, 1, 0, 1_000, 0, 1_000, 198_999, 1]],
      // A strike counts for less than five minutes.
      [[0, 1, 59_999, 1, 240_000, 1_000, 1_000]],
      [[0, 1, 59_999, 1, 239_000, 998, 1_000]],
    ];
    fc.assert(fc.property(gaps, expectModel), { examples });
  });

  it('never ban workers that share a key and wait for Retry-After, up to 16 of any pauses, or 200 that send every 15 s', () => {
    const plan = fc.record({ perMinute: fc.integer({ min: 1, max: 60 }), perDay: fc.constantFrom(99, 1e6) });
    const pausesUpTo = (max: number) =>
      fc.array(fc.double({ min: 0.05, max, noNaN: true }), { minLength: 1 });
    const few = fc.tuple(fc.integer({ min: 1, max: 16 }), pausesUpTo(90), plan);
    const many = fc.tuple(fc.integer({ min: 1, max: 200 }), pausesUpTo(15), plan);
    const expectNoBan = (fleet: [number, number[], OwnerLimits]) =>
      expect(firstBan(...fleet, (_nth, retryAfter) => retryAfter)).toBeUndefined();
    fc.assert(fc.property(fc.oneof(few, many), expectNoBan), { numRuns: 30 });
  });

  it('never ban up to 20 workers that back off exponentially, but one that sends a request every 0.5 s', () => {
    const pauses = [4.9, 0.2, 3.7, 1.1, 2.8, 0.6, 4.3];
    for (const workers of [5, 10, 20])
      for (const plan of [PLANS.free, { ...PLANS.free, perDay: 1 }])
        expect(firstBan(workers, pauses, plan, (nth) => 2 ** (nth - 1))).toBeUndefined();
    const banned = firstBan(1, [0.5], PLANS.free, () => 0.5);
    expect(banned).toBeGreaterThanOrEqual(99);
    expect(banned).toBeLessThan(240);
  });

  it.each(['RATE_LIMIT_BAN_AFTER', 'RATE_LIMIT_BAN_SECONDS'])('never ban with %s=0', (setting) => {
    const key = new KeyAlone({ perMinute: 1 }, { [setting]: '0' });
    const verdicts = Array.from({ length: 300 }, (_, second) => key.sendAt(second * 1_000).verdict);
    expect(new Set(verdicts)).toEqual(new Set(['admitted', 'limited']));
    expect(key.standing()).toMatchObject({ banAfter: 0 });
  });
});
