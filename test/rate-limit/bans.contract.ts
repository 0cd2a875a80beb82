import type { Decision } from '../../src/rate-limit/rate-limit.store';
import type { CreateStore, StoreUnderTest } from './store.contract';

const SETTINGS = { RATE_LIMIT_BAN_AFTER: '3', RATE_LIMIT_BAN_SECONDS: '300' };
const LIMITS = { perMinute: 2, perDay: 1_000_000 };

/** The contract of strikes and bans. The spec of each RateLimitStore runs it. */
export function bansContract(name: string, create: CreateStore): void {
  describe(`${name} meets the contract of bans:`, () => {
    let under: StoreUnderTest;
    let unbannedAt: number;
    const use = async (settings: Record<string, string> = SETTINGS) => {
      under = await create(settings);
      unbannedAt = 0;
    };
    beforeEach(() => use());

    const take = async (id = 'key', limits = LIMITS): Promise<Decision> =>
      under.store.take({ owner: 'account:1', limits, key: { id, unbannedAt } });
    const wait = (seconds: number) => under.clock.advance({ seconds });
    /** Uses up the minute, gets one 429 and then a strike a second. @returns the last decision */
    async function hammer(strikes: number): Promise<Decision> {
      for (let at = 0; at < 3; at += 1) await take();
      wait(1);
      for (let at = 1; at < strikes; at += 1) await takeAfter(1);
      return takeAfter(1);
    }
    function takeAfter(seconds: number): Promise<Decision> {
      wait(seconds);
      return take();
    }

    it('the last strike gets the verdict banned, and only it begins the ban', async () => {
      expect((await hammer(2)).verdict).toBe('limited');
      wait(1);
      const end = under.clock.now() + 300_000;
      expect(await take()).toMatchObject({ verdict: 'banned', bannedUntil: end, beganBan: true });
      wait(299.999);
      const during = await take();
      expect(during).toMatchObject({ verdict: 'banned', bannedUntil: end });
      expect(during.beganBan).toBeUndefined();
      wait(0.001);
      expect(await take()).toMatchObject({ verdict: 'admitted' });
    });

    it('a 429 is a strike if it comes more than a second after the first one', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let at = 0; at < 3; at += 1) await take();
      wait(1);
      expect((await take()).verdict).toBe('limited');
      wait(0.001);
      expect((await take()).verdict).toBe('banned');
    });

    it('a key gets at most one strike a second for any number of 429s', async () => {
      await hammer(1);
      for (let at = 0; at < 50; at += 1) expect((await take()).verdict).toBe('limited');
      expect((await takeAfter(0.999)).verdict).toBe('limited');
      // The second strike, and the third.
      expect((await takeAfter(0.001)).verdict).toBe('limited');
      expect((await takeAfter(1)).verdict).toBe('banned');
    });

    it('a key gets strikes as before if the clock was set back, and none for earlier 429s', async () => {
      await hammer(2);
      wait(-3_600);
      expect((await hammer(2)).verdict).toBe('limited');
      expect((await takeAfter(1)).verdict).toBe('banned');
    });

    it('a client that waits for Retry-After gets no strike, in the next window either', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let round = 0; round < 5; round += 1) {
        for (let at = 0; at < 2; at += 1) expect((await take()).verdict).toBe('admitted');
        const { verdict, windows, now } = await take();
        expect(verdict).toBe('limited');
        wait((windows.minute.resetAt - now) / 1_000);
      }
    });

    it('a larger plan ends the wait of a key', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let at = 0; at < 3; at += 1) await take();
      expect((await take('key', { perMinute: 3, perDay: 9 })).verdict).toBe('admitted');
      wait(2);
      expect((await take('key', { perMinute: 3, perDay: 9 })).verdict).toBe('limited');
      wait(1);
      expect((await take('key', { perMinute: 3, perDay: 9 })).verdict).toBe('limited');
    });

    it('a key that waits for the last Retry-After gets no strike, even if an earlier one was longer', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      const larger = { perMinute: 2, perDay: 9 };
      await take('key', { perMinute: 2, perDay: 1 });
      // Until midnight.
      expect((await take('key', { perMinute: 2, perDay: 1 })).verdict).toBe('limited');
      await take('other', larger);
      // Until the end of the minute, whose requests the other key then takes.
      const { windows, now } = await take('key', larger);
      wait((windows.minute.resetAt - now) / 1_000);
      for (let at = 0; at < 2; at += 1) await take('other', larger);
      expect((await take('key', larger)).verdict).toBe('limited');
    });

    it('the wait of a key ends with the window that resets last', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let at = 0; at < 2; at += 1) await take('key', { perMinute: 1, perDay: 1 });
      wait(90);
      expect((await take('key', { perMinute: 1, perDay: 1 })).verdict).toBe('banned');
    });

    it('each strike counts for five minutes', async () => {
      for (const pause of [200, 200, 200]) {
        expect((await hammer(1)).verdict).toBe('limited');
        wait(pause);
      }
      wait(301);
      expect((await hammer(2)).verdict).toBe('limited');
      wait(60);
      expect((await hammer(1)).verdict).toBe('banned');
    });

    it('another ban within 24 h lasts six times as long, and never longer; a later one is as short as the first', async () => {
      const lengths = [];
      for (const pause of [300, 1_800, 86_401, 0]) {
        const { now, bannedUntil = 0 } = await hammer(3);
        lengths.push((bannedUntil - now) / 1_000);
        wait(pause);
      }
      expect(lengths).toEqual([300, 1_800, 1_800, 300]);
    });

    it('a lifted ban does not make the next one longer', async () => {
      await hammer(3);
      unbannedAt = under.clock.now();
      wait(5);
      expect((await take()).verdict).toBe('limited');
      wait(60);
      const again = await hammer(3);
      expect(again).toMatchObject({ verdict: 'banned', bannedUntil: again.now + 300_000 });
      expect((await take()).verdict).toBe('banned');
    });

    it('the other keys of the account are admitted', async () => {
      await hammer(3);
      wait(60);
      expect((await take('other')).verdict).toBe('admitted');
      expect((await take()).verdict).toBe('banned');
    });

    it('a 429 during a ban is not a strike and is not counted in a window', async () => {
      await hammer(3);
      for (let at = 0; at < 10; at += 1) await take();
      wait(300);
      expect((await take()).windows.minute.remaining).toBe(1);
      expect((await hammer(1)).verdict).toBe('limited');
    });

    it('a ban does not become longer if the clock is set back', async () => {
      await hammer(3);
      wait(-86_400);
      for (let at = 0; at < 2; at += 1) {
        expect(await take()).toMatchObject({ verdict: 'banned', bannedUntil: under.clock.now() + 300_000 });
      }
      wait(300);
      expect((await take()).verdict).not.toBe('banned');
    });

    it('no key is banned if bans are switched off', async () => {
      await use({ RATE_LIMIT_BAN_AFTER: '0' });
      expect((await hammer(50)).verdict).toBe('limited');
    });
  });
}
