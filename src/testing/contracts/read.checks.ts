import assert from 'node:assert/strict';
import type { BanCheck } from './ban-client';

const NO_BANS = { rateLimitBanAfter: 0, rateLimitBanSeconds: 300 };

/** The promises of `read`, which shows a client what its next request would be decided on. */
export const READ_CHECKS: readonly BanCheck[] = [
  [
    'read returns the windows of the last decision, however often it is called, and then whole ones',
    async (client) => {
      const { windows } = await client.take();
      for (let at = 0; at < 5; at += 1) {
        assert.deepEqual(await client.read(), { windows, now: client.now, strikes: 0 });
      }
      await client.expect('admitted');
      const rejected = await client.expect('limited');
      assert.deepEqual((await client.read()).windows, rejected.windows);
      client.wait(60);
      const { minute, day } = (await client.read()).windows;
      assert.deepEqual(minute, { limit: 2, remaining: 2, resetAt: client.now + 60_000 });
      assert.deepEqual(day?.remaining, 999_998);
    },
  ],
  [
    'read begins no window',
    async (client) => {
      await client.read();
      client.wait(30);
      const { windows } = await client.take();
      assert.equal(windows.minute.resetAt, client.now + 60_000);
    },
  ],
  [
    'read during a 429 is no strike, and does not end the wait of the key',
    async (client) => {
      await client.hammer(1);
      for (let at = 0; at < 10; at += 1) {
        client.wait(1);
        assert.equal((await client.read()).strikes, 1);
      }
      await client.expect('limited');
      await client.expect('banned', client.takeAfter(1));
    },
  ],
  [
    'read returns the strikes of the last five minutes of this key only',
    async (client) => {
      await client.hammer(2);
      assert.equal((await client.read()).strikes, 2);
      assert.equal((await client.read('other')).strikes, 0);
      client.wait(299);
      // The first of them was a second earlier.
      assert.equal((await client.read()).strikes, 1);
      client.wait(1);
      assert.equal((await client.read()).strikes, 0);
    },
  ],
  [
    'read during a ban returns its end and no strikes, and the other keys are not banned',
    async (client) => {
      const { bannedUntil } = await client.hammer(3);
      const { strikes, ...banned } = await client.read();
      assert.deepEqual([strikes, banned.bannedUntil], [0, bannedUntil]);
      assert.equal((await client.read('other')).bannedUntil, undefined);
      client.wait(300);
      assert.equal((await client.read()).bannedUntil, undefined);
    },
  ],
  [
    'read returns no ban that was lifted',
    async (client) => {
      await client.hammer(3);
      client.unbannedAt = client.now;
      const { strikes, bannedUntil } = await client.read();
      assert.deepEqual([strikes, bannedUntil], [0, undefined]);
    },
  ],
  [
    'read returns no strikes if bans are switched off',
    async (client) => {
      await client.hammer(5);
      const { strikes, bannedUntil } = await client.read();
      assert.deepEqual([strikes, bannedUntil], [0, undefined]);
    },
    NO_BANS,
  ],
];
