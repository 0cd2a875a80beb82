import assert from 'node:assert/strict';
import { type BanCheck, BanClient } from './ban-client';
import type { Contract } from './contract';
import type { BanSettings, CreateStore } from './store-under-test';
import { READ_CHECKS } from './read.checks';
import { WAIT_CHECKS } from './wait.checks';

const SETTINGS: BanSettings = { rateLimitBanAfter: 3, rateLimitBanSeconds: 300 };
const FIRST_STRIKE: BanSettings = { ...SETTINGS, rateLimitBanAfter: 1 };
const NO_BANS: BanSettings = { ...SETTINGS, rateLimitBanAfter: 0 };

const CHECKS: readonly BanCheck[] = [
  [
    'the last strike gets the verdict banned, and only it begins the ban',
    async (client) => {
      await client.expect('limited', client.hammer(2));
      client.wait(1);
      const end = client.now + 300_000;
      const last = await client.expect('banned');
      assert.deepEqual([last.bannedUntil, last.beganBan], [end, true]);
      const during = await client.expect('banned', client.takeAfter(299.999));
      assert.deepEqual([during.bannedUntil, during.beganBan], [end, undefined]);
      await client.expect('admitted', client.takeAfter(0.001));
    },
  ],
  [
    'a 429 is a strike if it comes more than a second after the first one',
    async (client) => {
      for (let at = 0; at < 3; at += 1) await client.take();
      await client.expect('limited', client.takeAfter(1));
      await client.expect('banned', client.takeAfter(0.001));
    },
    FIRST_STRIKE,
  ],
  [
    'a key gets at most one strike a second for any number of 429s',
    async (client) => {
      await client.hammer(1);
      for (let at = 0; at < 50; at += 1) await client.expect('limited');
      await client.expect('limited', client.takeAfter(0.999));
      // The second strike, and the third.
      await client.expect('limited', client.takeAfter(0.001));
      await client.expect('banned', client.takeAfter(1));
    },
  ],
  [
    'a key gets strikes as before if the clock was set back, and none for earlier 429s',
    async (client) => {
      await client.hammer(2);
      client.wait(-3_600);
      await client.expect('limited', client.hammer(2));
      await client.expect('banned', client.takeAfter(1));
    },
  ],
  [
    'each strike counts for five minutes',
    async (client) => {
      for (const pause of [200, 200, 200]) {
        await client.expect('limited', client.hammer(1));
        client.wait(pause);
      }
      client.wait(301);
      await client.expect('limited', client.hammer(2));
      client.wait(60);
      await client.expect('banned', client.hammer(1));
    },
  ],
  [
    'another ban within 24 h lasts six times as long, and never longer; a later one is as short as the first',
    async (client) => {
      const lengths = [];
      for (const pause of [300, 1_800, 86_401, 0]) {
        const { now, bannedUntil = 0 } = await client.hammer(3);
        lengths.push((bannedUntil - now) / 1_000);
        client.wait(pause);
      }
      assert.deepEqual(lengths, [300, 1_800, 1_800, 300]);
    },
  ],
  [
    'a lifted ban does not make the next one longer',
    async (client) => {
      await client.hammer(3);
      client.unbannedAt = client.now;
      await client.expect('limited', client.takeAfter(5));
      client.wait(60);
      const again = await client.expect('banned', client.hammer(3));
      assert.equal(again.bannedUntil, again.now + 300_000);
      await client.expect('banned');
    },
  ],
  [
    'the other keys of the account are admitted',
    async (client) => {
      await client.hammer(3);
      client.wait(60);
      await client.expect('admitted', client.take('other'));
      await client.expect('banned');
    },
  ],
  [
    'a 429 during a ban is not a strike and is not counted in a window',
    async (client) => {
      await client.hammer(3);
      for (let at = 0; at < 10; at += 1) await client.take();
      client.wait(300);
      assert.equal((await client.take()).windows.minute.remaining, 1);
      await client.expect('limited', client.hammer(1));
    },
  ],
  [
    'a ban does not become longer if the clock is set back',
    async (client) => {
      await client.hammer(3);
      client.wait(-86_400);
      for (let at = 0; at < 2; at += 1) {
        const { bannedUntil } = await client.expect('banned');
        assert.equal(bannedUntil, client.now + 300_000);
      }
      client.wait(300);
      assert.notEqual((await client.take()).verdict, 'banned');
    },
  ],
  [
    'no key is banned if bans are switched off',
    async (client) => {
      await client.expect('limited', client.hammer(50));
    },
    NO_BANS,
  ],
];

export function banContract(create: CreateStore): Contract {
  return [...CHECKS, ...WAIT_CHECKS, ...READ_CHECKS].map(([title, check, settings = SETTINGS]) => ({
    title,
    check: async () => check(new BanClient(await create(settings))),
  }));
}
