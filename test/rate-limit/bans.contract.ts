import type { Decision } from '../../src/rate-limit/rate-limit.store';
import type { CreateStore, StoreUnderTest } from './store.contract';

const SETTINGS = { RATE_LIMIT_BAN_AFTER: '3', RATE_LIMIT_BAN_SECONDS: '300' };
const LIMITS = { perMinute: 2, perDay: 1_000_000 };

/** What every RateLimitStore promises of strikes and bans. Each implementation runs it in a spec of its own. */
export function bansContract(name: string, create: CreateStore): void {
  describe(`${name} keeps the contract of bans:`, () => {
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
    /** Uses the minute up, is refused once, and gets a number of strikes, one a second. @returns the last decision */
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

    it('the last strike is answered as banned, and it alone begins the ban', async () => {
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

    it('a refusal is a strike from just over a second after the first one on', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let at = 0; at < 3; at += 1) await take();
      wait(1);
      expect((await take()).verdict).toBe('limited');
      wait(0.001);
      expect((await take()).verdict).toBe('banned');
    });

    it('a key gets at most one strike a second, however often it is refused', async () => {
      await hammer(1);
      for (let at = 0; at < 50; at += 1) expect((await take()).verdict).toBe('limited');
      expect((await takeAfter(0.999)).verdict).toBe('limited');
      // The second strike, and the third.
      expect((await takeAfter(0.001)).verdict).toBe('limited');
      expect((await takeAfter(1)).verdict).toBe('banned');
    });

    it('after the clock was set back a key gets strikes as before, none of them for refusals of the future', async () => {
      await hammer(2);
      wait(-3_600);
      expect((await hammer(2)).verdict).toBe('limited');
      expect((await takeAfter(1)).verdict).toBe('banned');
    });

    it('whoever waits as it was told gets no strike, in the next window neither', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let round = 0; round < 5; round += 1) {
        for (let at = 0; at < 2; at += 1) expect((await take()).verdict).toBe('admitted');
        const { verdict, windows, now } = await take();
        expect(verdict).toBe('limited');
        wait((windows.minute.resetAt - now) / 1_000);
      }
    });

    it('a larger plan takes back what a key was told of waiting', async () => {
      await use({ ...SETTINGS, RATE_LIMIT_BAN_AFTER: '1' });
      for (let at = 0; at < 3; at += 1) await take();
      expect((await take('key', { perMinute: 3, perDay: 9 })).verdict).toBe('admitted');
      wait(2);
      expect((await take('key', { perMinute: 3, perDay: 9 })).verdict).toBe('limited');
      wait(1);
      expect((await take('key', { perMinute: 3, perDay: 9 })).verdict).toBe('limited');
    });

    it('a key is asked to wait for the window that resets last', async () => {
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

    it('another ban within 24 h lasts six times as long, and never longer; after that it is a first one', async () => {
      const lengths = [];
      for (const pause of [300, 1_800, 86_401, 0]) {
        const { now, bannedUntil = 0 } = await hammer(3);
        lengths.push((bannedUntil - now) / 1_000);
        wait(pause);
      }
      expect(lengths).toEqual([300, 1_800, 1_800, 300]);
    });

    it('a ban that was lifted is forgotten, and the next one is as short as a first', async () => {
      await hammer(3);
      unbannedAt = under.clock.now();
      wait(5);
      expect((await take()).verdict).toBe('limited');
      wait(60);
      const again = await hammer(3);
      expect(again).toMatchObject({ verdict: 'banned', bannedUntil: again.now + 300_000 });
      expect((await take()).verdict).toBe('banned');
    });

    it('the other keys of the account go on', async () => {
      await hammer(3);
      wait(60);
      expect((await take('other')).verdict).toBe('admitted');
      expect((await take()).verdict).toBe('banned');
    });

    it('refusals during a ban are no strikes, and take nothing from the windows', async () => {
      await hammer(3);
      for (let at = 0; at < 10; at += 1) await take();
      wait(300);
      expect((await take()).windows.minute.remaining).toBe(1);
      expect((await hammer(1)).verdict).toBe('limited');
    });

    it('a clock that is set back makes no ban longer', async () => {
      await hammer(3);
      wait(-86_400);
      for (let at = 0; at < 2; at += 1) {
        expect(await take()).toMatchObject({ verdict: 'banned', bannedUntil: under.clock.now() + 300_000 });
      }
      wait(300);
      expect((await take()).verdict).not.toBe('banned');
    });

    it('switched off they hit nobody', async () => {
      await use({ RATE_LIMIT_BAN_AFTER: '0' });
      expect((await hammer(50)).verdict).toBe('limited');
    });
  });
}
