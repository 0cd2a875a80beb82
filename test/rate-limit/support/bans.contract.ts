import { BanClient } from './ban-client';
import { type BanSettings, type CreateStore, NO_BANS } from './store-under-test';

const SETTINGS: BanSettings = { rateLimitBanAfter: 3, rateLimitBanSeconds: 300 };
const FIRST_STRIKE: BanSettings = { ...SETTINGS, rateLimitBanAfter: 1 };

/** The specs of strikes and bans that every store passes, and of `read`, which shows both to a client. */
export function itKeepsBans(create: CreateStore): void {
  const start = async (settings: BanSettings) => new BanClient(await create(settings));

  it('the last strike gets the verdict banned, and only it begins the ban', async () => {
    const client = await start(SETTINGS);
    await client.expectVerdict('limited', client.hammer(2));
    client.wait(1);
    const end = client.now + 300_000;
    const last = await client.expectVerdict('banned');
    expect([last.bannedUntil, last.beganBan]).toEqual([end, true]);
    const during = await client.expectVerdict('banned', client.takeAfter(299.999));
    expect([during.bannedUntil, during.beganBan]).toEqual([end, undefined]);
    await client.expectVerdict('admitted', client.takeAfter(0.001));
  });

  it('a 429 is a strike if it comes more than a second after the first one', async () => {
    const client = await start(FIRST_STRIKE);
    for (let at = 0; at < 3; at += 1) await client.take();
    await client.expectVerdict('limited', client.takeAfter(1));
    await client.expectVerdict('banned', client.takeAfter(0.001));
  });

  it('a key gets at most one strike a second for any number of 429s', async () => {
    const client = await start(SETTINGS);
    await client.hammer(1);
    for (let at = 0; at < 50; at += 1) await client.expectVerdict('limited');
    await client.expectVerdict('limited', client.takeAfter(0.999));
    // The second strike, and the third.
    await client.expectVerdict('limited', client.takeAfter(0.001));
    await client.expectVerdict('banned', client.takeAfter(1));
  });

  it('a key gets strikes as before if the clock was set back, and none for earlier 429s', async () => {
    const client = await start(SETTINGS);
    await client.hammer(2);
    client.wait(-3_600);
    await client.expectVerdict('limited', client.hammer(2));
    await client.expectVerdict('banned', client.takeAfter(1));
  });

  it('each strike counts for five minutes', async () => {
    const client = await start(SETTINGS);
    for (const pause of [200, 200, 200]) {
      await client.expectVerdict('limited', client.hammer(1));
      client.wait(pause);
    }
    client.wait(301);
    await client.expectVerdict('limited', client.hammer(2));
    client.wait(60);
    await client.expectVerdict('banned', client.hammer(1));
  });

  it('another ban within 24 h lasts six times as long, and never longer; a later one is as short as the first', async () => {
    const client = await start(SETTINGS);
    const lengths = [];
    for (const pause of [300, 1_800, 86_401, 0]) {
      const { now, bannedUntil = 0 } = await client.hammer(3);
      lengths.push((bannedUntil - now) / 1_000);
      client.wait(pause);
    }
    expect(lengths).toEqual([300, 1_800, 1_800, 300]);
  });

  it('a lifted ban does not make the next one longer', async () => {
    const client = await start(SETTINGS);
    await client.hammer(3);
    client.unbannedAt = client.now;
    await client.expectVerdict('limited', client.takeAfter(5));
    client.wait(60);
    const again = await client.expectVerdict('banned', client.hammer(3));
    expect(again.bannedUntil).toBe(again.now + 300_000);
    await client.expectVerdict('banned');
  });

  it('the other keys of the account are admitted', async () => {
    const client = await start(SETTINGS);
    await client.hammer(3);
    client.wait(60);
    await client.expectVerdict('admitted', client.take('other'));
    await client.expectVerdict('banned');
  });

  it('a 429 during a ban is not a strike and is not counted in a window', async () => {
    const client = await start(SETTINGS);
    await client.hammer(3);
    for (let at = 0; at < 10; at += 1) await client.take();
    client.wait(300);
    expect((await client.take()).windows.minute.remaining).toBe(1);
    await client.expectVerdict('limited', client.hammer(1));
  });

  it('a ban does not become longer if the clock is set back', async () => {
    const client = await start(SETTINGS);
    await client.hammer(3);
    client.wait(-86_400);
    for (let at = 0; at < 2; at += 1) {
      const { bannedUntil } = await client.expectVerdict('banned');
      expect(bannedUntil).toBe(client.now + 300_000);
    }
    client.wait(300);
    expect((await client.take()).verdict).not.toBe('banned');
  });

  it('no key is banned if bans are switched off', async () => {
    const client = await start(NO_BANS);
    await client.expectVerdict('limited', client.hammer(50));
  });

  it('a client that waits for Retry-After gets no strike, in the next window either', async () => {
    const client = await start(FIRST_STRIKE);
    for (let round = 0; round < 5; round += 1) {
      for (let at = 0; at < 2; at += 1) await client.expectVerdict('admitted');
      const { windows, now } = await client.expectVerdict('limited');
      client.wait((windows.minute.resetAt - now) / 1_000);
    }
  });

  it('a larger plan ends the wait of a key', async () => {
    const client = await start(FIRST_STRIKE);
    const larger = { perMinute: 3, perDay: 9 };
    for (let at = 0; at < 3; at += 1) await client.take();
    await client.expectVerdict('admitted', client.take('key', larger));
    client.wait(2);
    await client.expectVerdict('limited', client.take('key', larger));
    client.wait(1);
    await client.expectVerdict('limited', client.take('key', larger));
  });

  it('a key that waits for the last Retry-After gets no strike, even if an earlier one was longer', async () => {
    const client = await start(FIRST_STRIKE);
    const [smaller, larger] = [
      { perMinute: 2, perDay: 1 },
      { perMinute: 2, perDay: 9 },
    ];
    await client.take('key', smaller);
    // Until midnight.
    await client.expectVerdict('limited', client.take('key', smaller));
    await client.take('other', larger);
    // Until the end of the minute, whose requests the other key then takes.
    const { windows, now } = await client.take('key', larger);
    client.wait((windows.minute.resetAt - now) / 1_000);
    for (let at = 0; at < 2; at += 1) await client.take('other', larger);
    await client.expectVerdict('limited', client.take('key', larger));
  });

  it('the wait of a key ends with the window that resets last', async () => {
    const client = await start(FIRST_STRIKE);
    const limits = { perMinute: 1, perDay: 1 };
    for (let at = 0; at < 2; at += 1) await client.take('key', limits);
    client.wait(90);
    await client.expectVerdict('banned', client.take('key', limits));
  });

  it('read returns the windows of the last decision, however often it is called, and then whole ones', async () => {
    const client = await start(SETTINGS);
    const { windows } = await client.take();
    for (let at = 0; at < 5; at += 1) {
      expect(await client.read()).toEqual({ windows, now: client.now, strikes: 0 });
    }
    await client.expectVerdict('admitted');
    const rejected = await client.expectVerdict('limited');
    expect((await client.read()).windows).toEqual(rejected.windows);
    client.wait(60);
    const { minute, day } = (await client.read()).windows;
    expect(minute).toEqual({ limit: 2, remaining: 2, resetAt: client.now + 60_000 });
    expect(day?.remaining).toEqual(999_998);
  });

  it('read begins no window', async () => {
    const client = await start(SETTINGS);
    await client.read();
    client.wait(30);
    const { windows } = await client.take();
    expect(windows.minute.resetAt).toBe(client.now + 60_000);
  });

  it('read during a 429 is no strike, and does not end the wait of the key', async () => {
    const client = await start(SETTINGS);
    await client.hammer(1);
    for (let at = 0; at < 10; at += 1) {
      client.wait(1);
      expect((await client.read()).strikes).toBe(1);
    }
    await client.expectVerdict('limited');
    await client.expectVerdict('banned', client.takeAfter(1));
  });

  it('read returns the strikes of the last five minutes of this key only', async () => {
    const client = await start(SETTINGS);
    await client.hammer(2);
    expect((await client.read()).strikes).toBe(2);
    expect((await client.read('other')).strikes).toBe(0);
    client.wait(299);
    // The first of them was a second earlier.
    expect((await client.read()).strikes).toBe(1);
    client.wait(1);
    expect((await client.read()).strikes).toBe(0);
  });

  it('read during a ban returns its end and no strikes, and the other keys are not banned', async () => {
    const client = await start(SETTINGS);
    const { bannedUntil } = await client.hammer(3);
    const { strikes, ...banned } = await client.read();
    expect([strikes, banned.bannedUntil]).toEqual([0, bannedUntil]);
    expect((await client.read('other')).bannedUntil).toBe(undefined);
    client.wait(300);
    expect((await client.read()).bannedUntil).toBe(undefined);
  });

  it('read returns no ban that was lifted', async () => {
    const client = await start(SETTINGS);
    await client.hammer(3);
    client.unbannedAt = client.now;
    const { strikes, bannedUntil } = await client.read();
    expect([strikes, bannedUntil]).toEqual([0, undefined]);
  });

  it('read returns no strikes if bans are switched off', async () => {
    const client = await start(NO_BANS);
    await client.hammer(5);
    const { strikes, bannedUntil } = await client.read();
    expect([strikes, bannedUntil]).toEqual([0, undefined]);
  });
}
