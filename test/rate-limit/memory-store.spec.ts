import { PLANS } from '../../src/accounts';
import { readConfig } from '../../src/platform/config/config';
import { MemoryRateLimitStore } from '../../src/rate-limit/memory.store';
import { TestClock } from '../support/clock';
import { itKeepsBans } from './support/bans.contract';
import { type Fleet, firstBan } from './support/fleet';
import type { BanSettings } from './support/store-under-test';
import { itKeepsWindows } from './support/windows.contract';

/** The defaults of the settings. */
const DEFAULTS: BanSettings = { rateLimitBanAfter: 100, rateLimitBanSeconds: 300 };
const FLEET_SECONDS = 3_600;
const MAX_SECONDS_BEFORE_BAN = 240;

function create({ rateLimitBanAfter, rateLimitBanSeconds }: BanSettings = DEFAULTS) {
  const clock = new TestClock();
  const settings = {
    RATE_LIMIT_BAN_AFTER: String(rateLimitBanAfter),
    RATE_LIMIT_BAN_SECONDS: String(rateLimitBanSeconds),
  };
  return { clock, store: new MemoryRateLimitStore(clock, readConfig(settings)) };
}

describe('the memory store', () => {
  itKeepsWindows(create, 300);
  itKeepsBans(create);

  it('removes owners without a current window and keys without a recent rejection', () => {
    const { clock, store } = create({ ...DEFAULTS, rateLimitBanAfter: 3 });
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
    const { clock, store } = create({ rateLimitBanAfter: 2, rateLimitBanSeconds: 300 });
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

  describe('with the default settings, a key that several workers share', () => {
    const { free, pro } = PLANS;
    const spent = { perMinute: free.perMinute, perDay: 1 };
    const asTold: Fleet['wait'] = (retryAfter) => retryAfter + 0.05;
    const jittered: Fleet['wait'] = (retryAfter, _nth, random) => retryAfter + 10 * random();
    const atMost30: Fleet['wait'] = (retryAfter) => Math.min(retryAfter, 30) + 0.05;
    const exponential: Fleet['wait'] = (_retryAfter, nth) => Math.min(32, 2 ** (nth - 1));
    const rare = { perMinute: 3, perDay: 1e6 };

    it.each<[name: string, fleet: Fleet]>([
      ['40 workers wait as told', { workers: 40, pause: [0, 5], wait: asTold, limits: free }],
      ['60 workers wait as told', { workers: 60, pause: [0, 5], wait: asTold, limits: free }],
      ['100 workers wait as told', { workers: 100, pause: [0, 5], wait: asTold, limits: free }],
      ['100 workers wait up to 10 s longer', { workers: 100, pause: [0, 5], wait: jittered, limits: free }],
      ['17 rare workers wait as told', { workers: 17, pause: [0, 60], wait: asTold, limits: rare }],
      [
        '100 workers on the pro plan wait as told',
        { workers: 100, pause: [2, 4], wait: asTold, limits: pro },
      ],
      ['5 workers back off exponentially', { workers: 5, pause: [0, 5], wait: exponential, limits: free }],
      ['20 workers wait at most 30 s', { workers: 20, pause: [0, 5], wait: atMost30, limits: free }],
      ['5 wait at most 30 s after the day', { workers: 5, pause: [0, 5], wait: atMost30, limits: spent }],
      ['20 wait at most 30 s after the day', { workers: 20, pause: [0, 5], wait: atMost30, limits: spent }],
    ])('is not banned within an hour if %s', async (_name, fleet) => {
      expect(await firstBan(create(), fleet, FLEET_SECONDS)).toBeUndefined();
    });

    it.each([
      [1, 0.1],
      [1, 0.5],
      [20, 1],
    ])('is banned within four minutes if %d of them send a request every %d s', async (workers, seconds) => {
      const fleet: Fleet = { workers, pause: [seconds, seconds], wait: () => seconds, limits: free };
      expect(await firstBan(create(), fleet, FLEET_SECONDS)).toBeLessThan(MAX_SECONDS_BEFORE_BAN);
    });
  });
});
