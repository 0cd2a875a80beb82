import type { Charge, Decision, Standing } from '../../../src/rate-limit/rate-limit.store';
import type { StoreUnderTest } from './store-under-test';

const LIMITS = { perMinute: 2, perDay: 1_000_000 };

/** Sends the requests of one account, most of them with one key. */
export class BanClient {
  unbannedAt = 0;

  constructor(private readonly under: StoreUnderTest) {}

  get now(): number {
    return this.under.clock.now();
  }

  async take(id = 'key', limits = LIMITS): Promise<Decision> {
    return this.under.store.take(this.charge(id, limits));
  }

  async read(id = 'key'): Promise<Standing> {
    return this.under.store.read(this.charge(id, LIMITS));
  }

  wait(seconds: number): void {
    this.under.clock.advance({ seconds });
  }

  async takeAfter(seconds: number): Promise<Decision> {
    this.wait(seconds);
    return this.take();
  }

  /** Uses up the minute, gets one 429 and then a strike a second. @returns the last decision */
  async hammer(strikes: number): Promise<Decision> {
    for (let at = 0; at < 3; at += 1) await this.take();
    this.wait(1);
    for (let at = 1; at < strikes; at += 1) await this.takeAfter(1);
    return this.takeAfter(1);
  }

  async expectVerdict(
    verdict: Decision['verdict'],
    taken: Promise<Decision> = this.take(),
  ): Promise<Decision> {
    const decision = await taken;
    expect(decision.verdict).toBe(verdict);
    return decision;
  }

  private charge(id: string, limits: Charge['limits']): Charge {
    return { owner: 'account:1', limits, key: { id, unbannedAt: this.unbannedAt } };
  }
}
