import { readConfig } from '../../../src/platform/config/config';
import { MemoryRateLimitStore } from '../../../src/rate-limit/memory.store';
import type { Charge, Decision, Standing } from '../../../src/rate-limit/rate-limit.store';
import { TestClock } from '../../support/clock';

const LIMITS = { perMinute: 2, perDay: 1_000_000 };

/** Sends the requests of one account, most of them with one key, to a memory store. */
export class BanClient {
  unbannedAt = 0;

  readonly store: MemoryRateLimitStore;
  private readonly clock = new TestClock();

  constructor(settings: Readonly<Record<string, string>> = { RATE_LIMIT_BAN_AFTER: '3' }) {
    this.store = new MemoryRateLimitStore(this.clock, readConfig(settings));
  }

  get now(): number {
    return this.clock.now();
  }

  take(id = 'key', limits = LIMITS): Decision {
    return this.store.take(this.charge(id, limits));
  }

  read(id = 'key'): Standing {
    return this.store.read(this.charge(id, LIMITS));
  }

  wait(seconds: number): void {
    this.clock.advance({ seconds });
  }

  takeAfter(seconds: number): Decision {
    this.wait(seconds);
    return this.take();
  }

  /** Uses up the minute, gets one 429 and then a strike a second. @returns the last decision */
  hammer(strikes: number): Decision {
    for (let at = 0; at < 3; at += 1) this.take();
    this.wait(1);
    for (let at = 1; at < strikes; at += 1) this.takeAfter(1);
    return this.takeAfter(1);
  }

  private charge(id: string, limits: Charge['limits']): Charge {
    return { owner: 'account:1', limits, key: { id, unbannedAt: this.unbannedAt } };
  }
}
