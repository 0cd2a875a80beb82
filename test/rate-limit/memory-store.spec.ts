import { readConfig } from '../../src/platform/config/config';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import { TestClock } from '../support/clock';
import { itKeeps } from '../support/it-keeps';
import { rateLimitStoreContract } from '../../src/testing';

function create(settings: Record<string, string> = {}) {
  const clock = new TestClock();
  return { clock, store: new MemoryRateLimitStore(clock, readConfig(settings)) };
}

describe('the memory store meets the contract of a RateLimitStore:', () => {
  const contract = rateLimitStoreContract(({ rateLimitBanAfter, rateLimitBanSeconds }) =>
    create({
      RATE_LIMIT_BAN_AFTER: String(rateLimitBanAfter),
      RATE_LIMIT_BAN_SECONDS: String(rateLimitBanSeconds),
    }),
  );
  itKeeps(contract);
});

describe('the memory store', () => {
  it('removes owners without a current window and keys without a recent rejection', () => {
    const { clock, store } = create({ RATE_LIMIT_BAN_AFTER: '3' });
    for (let at = 0; at < 1_000; at += 1) {
      const key = { id: `key ${at}`, unbannedAt: 0 };
      for (let time = 0; time < 6; time += 1) {
        store.take({ owner: `account:${at}`, limits: { perMinute: 1, perDay: 9 }, key });
        store.take({ owner: `ip:${at}`, limits: { perMinute: 1 } });
        clock.advance({ seconds: 0.001 });
      }
    }
    clock.advance({ seconds: 3 });
    for (let at = 0; at < 1_000; at += 1) {
      const key = { id: `key ${at}`, unbannedAt: 0 };
      store.take({ owner: `account:${at}`, limits: { perMinute: 1, perDay: 9 }, key });
    }
    expect(store.sizes()).toEqual({ owners: 2_000, keys: 1_000 });
    clock.advance({ seconds: 2 * 86_400 });
    store.sweep();
    expect(store.sizes()).toEqual({ owners: 0, keys: 0 });
  });

  it('keeps a used day until midnight, the strikes of a key for 5 minutes, and its last ban for 24 h', () => {
    const { clock, store } = create({ RATE_LIMIT_BAN_AFTER: '2', RATE_LIMIT_BAN_SECONDS: '300' });
    const take = (afterSeconds: number) => {
      clock.advance({ seconds: afterSeconds });
      store.sweep();
      const key = { id: 'key', unbannedAt: 0 };
      return store.take({ owner: 'account:1', limits: { perMinute: 1, perDay: 3 }, key });
    };
    const verdicts = (...waits: number[]) => waits.map((wait) => take(wait).verdict);
    // The first strike, then two admitted requests, each in another minute.
    expect(verdicts(0, 0, 2, 58, 60)).toEqual(['admitted', 'limited', 'limited', 'admitted', 'admitted']);
    // The day is used up. The second strike is 179 s after the first.
    expect(verdicts(59, 2)).toEqual(['limited', 'banned']);
    expect(verdicts(300, 2)).toEqual(['limited', 'limited']);
    const { now, bannedUntil } = take(1);
    expect(bannedUntil! - now).toBe(6 * 300_000);
  });
});
