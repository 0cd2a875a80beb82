import { PLANS } from '../../src/accounts';
import { BanClient } from './support/ban-client';
import { type Fleet, firstBan } from './support/fleet';

const FIRST_STRIKE = { RATE_LIMIT_BAN_AFTER: '1' };
const FLEET_SECONDS = 3_600;
const MAX_SECONDS_BEFORE_BAN = 240;

// bans.spec has the responses to a client, and redis-instances.spec the bans of other instances.
describe('strikes and bans', () => {
  it('the last strike gets the verdict banned, and only it begins the ban', () => {
    const client = new BanClient();
    expect(client.hammer(2).verdict).toBe('limited');
    client.wait(1);
    const end = client.now + 300_000;
    const last = client.take();
    expect([last.bannedUntil, last.beganBan]).toEqual([end, true]);
    const during = client.takeAfter(299.999);
    expect([during.bannedUntil, during.beganBan]).toEqual([end, undefined]);
    expect(client.takeAfter(0.001).verdict).toBe('admitted');
  });

  it('a 429 is a strike if it comes more than a second after the first one', () => {
    const client = new BanClient(FIRST_STRIKE);
    for (let at = 0; at < 3; at += 1) client.take();
    expect(client.takeAfter(1).verdict).toBe('limited');
    expect(client.takeAfter(0.001).verdict).toBe('banned');
  });

  it('a key gets at most one strike a second for any number of 429s', () => {
    const client = new BanClient();
    client.hammer(1);
    for (let at = 0; at < 50; at += 1) expect(client.take().verdict).toBe('limited');
    expect(client.takeAfter(0.999).verdict).toBe('limited');
    // The second strike, and the third.
    expect(client.takeAfter(0.001).verdict).toBe('limited');
    expect(client.takeAfter(1).verdict).toBe('banned');
  });

  it('each strike counts for five minutes', () => {
    const client = new BanClient();
    for (const pause of [200, 200, 200]) {
      expect(client.hammer(1).verdict).toBe('limited');
      client.wait(pause);
    }
    client.wait(301);
    expect(client.hammer(2).verdict).toBe('limited');
    client.wait(60);
    expect(client.hammer(1).verdict).toBe('banned');
  });

  it('another ban within 24 h lasts six times as long, and never longer; a later one is as short as the first', () => {
    const client = new BanClient();
    const lengths = [];
    for (const pause of [300, 1_800, 86_401, 0]) {
      const { now, bannedUntil = 0 } = client.hammer(3);
      lengths.push((bannedUntil - now) / 1_000);
      client.wait(pause);
    }
    expect(lengths).toEqual([300, 1_800, 1_800, 300]);
  });

  it('a 429 during a ban is not a strike and is not counted in a window', () => {
    const client = new BanClient();
    client.hammer(3);
    for (let at = 0; at < 10; at += 1) client.take();
    client.wait(300);
    expect(client.take().windows.minute.remaining).toBe(1);
    expect(client.hammer(1).verdict).toBe('limited');
  });

  it('a client that waits for Retry-After gets no strike, in the next window either', () => {
    const client = new BanClient(FIRST_STRIKE);
    for (let round = 0; round < 5; round += 1) {
      for (let at = 0; at < 2; at += 1) expect(client.take().verdict).toBe('admitted');
      const { windows, now } = client.take();
      client.wait((windows.minute.resetAt - now) / 1_000);
    }
  });

  it('a larger plan ends the wait of a key', () => {
    const client = new BanClient(FIRST_STRIKE);
    const larger = { perMinute: 3, perDay: 9 };
    for (let at = 0; at < 3; at += 1) client.take();
    expect(client.take('key', larger).verdict).toBe('admitted');
    client.wait(2);
    expect(client.take('key', larger).verdict).toBe('limited');
    client.wait(1);
    expect(client.take('key', larger).verdict).toBe('limited');
  });

  it('a key that waits for the last Retry-After gets no strike, even if an earlier one was longer', () => {
    const client = new BanClient(FIRST_STRIKE);
    const [smaller, larger] = [
      { perMinute: 2, perDay: 1 },
      { perMinute: 2, perDay: 9 },
    ];
    client.take('key', smaller);
    // Until midnight.
    expect(client.take('key', smaller).verdict).toBe('limited');
    client.take('other', larger);
    // Until the end of the minute, whose requests the other key then takes.
    const { windows, now } = client.take('key', larger);
    client.wait((windows.minute.resetAt - now) / 1_000);
    for (let at = 0; at < 2; at += 1) client.take('other', larger);
    expect(client.take('key', larger).verdict).toBe('limited');
  });

  it('the wait of a key ends with the window that resets last', () => {
    const client = new BanClient(FIRST_STRIKE);
    const limits = { perMinute: 1, perDay: 1 };
    for (let at = 0; at < 2; at += 1) client.take('key', limits);
    client.wait(90);
    expect(client.take('key', limits).verdict).toBe('banned');
  });

  it('a key keeps its strikes for 5 minutes and its last ban; all other keys are forgotten', async () => {
    const client = new BanClient({ RATE_LIMIT_BAN_AFTER: '2' });
    const verdicts = async (...waits: number[]) => {
      const found = [];
      for (const wait of waits) {
        client.wait(wait);
        await client.bans.save();
        await client.bans.read();
        found.push(client.take('key', { perMinute: 1, perDay: 3 }).verdict);
      }
      return found;
    };
    // The first strike, then two admitted requests, each in another minute.
    expect(await verdicts(0, 0, 2, 58, 60)).toEqual([
      'admitted',
      'limited',
      'limited',
      'admitted',
      'admitted',
    ]);
    // The day is used up. The second strike is 179 s after the first.
    expect(await verdicts(59, 2)).toEqual(['limited', 'banned']);
    expect(await verdicts(300, 2, 1)).toEqual(['limited', 'limited', 'banned']);
    expect(client.standing().bannedUntil! - client.now).toBe(6 * 300_000);
    for (let at = 0; at < 1_000; at += 1) client.take(`key ${at}`, { perMinute: 1, perDay: 3 });
    expect(client.bans.histories.size).toBe(1_001);
    client.wait(86_400);
    await client.bans.read();
    expect([...client.bans.histories.keys()]).toEqual(['key']);
  });

  describe('with the default settings, a key that several workers share', () => {
    const { free, pro } = PLANS;
    const spent = { perMinute: free.perMinute, perDay: 1 };
    const asTold: Fleet['wait'] = (retryAfter) => retryAfter + 0.05;
    const jittered: Fleet['wait'] = (retryAfter, _nth, random) => retryAfter + 10 * random();
    const atMost30: Fleet['wait'] = (retryAfter) => Math.min(retryAfter, 30) + 0.05;
    const exponential: Fleet['wait'] = (_retryAfter, nth) => Math.min(32, 2 ** (nth - 1));

    it.each<[name: string, fleet: Fleet]>([
      ['40 workers wait as told', { workers: 40, pause: [0, 5], wait: asTold, limits: free }],
      ['100 workers wait as told', { workers: 100, pause: [0, 5], wait: asTold, limits: free }],
      ['100 on the pro plan wait as told', { workers: 100, pause: [2, 4], wait: asTold, limits: pro }],
      ['100 workers wait up to 10 s longer', { workers: 100, pause: [0, 5], wait: jittered, limits: free }],
      ['5 workers back off exponentially', { workers: 5, pause: [0, 5], wait: exponential, limits: free }],
      ['20 wait at most 30 s after the day', { workers: 20, pause: [0, 5], wait: atMost30, limits: spent }],
    ])('is not banned within an hour if %s', (_name, fleet) => {
      expect(firstBan(fleet, FLEET_SECONDS)).toBeUndefined();
    });

    it('is banned after 100 s, within 10 s, if it ignores Retry-After for a whole day', () => {
      const fleet: Fleet = { workers: 1, pause: [0.1, 0.1], wait: () => 0.1, limits: spent };
      const seconds = firstBan(fleet, FLEET_SECONDS);
      expect(seconds).toBeGreaterThan(90);
      expect(seconds).toBeLessThan(110);
    });

    it.each([
      [1, 0.1],
      [20, 1],
    ])('is banned within four minutes if %d of them send a request every %d s', (workers, seconds) => {
      const fleet: Fleet = { workers, pause: [seconds, seconds], wait: () => seconds, limits: free };
      expect(firstBan(fleet, FLEET_SECONDS)).toBeLessThan(MAX_SECONDS_BEFORE_BAN);
    });
  });
});
