import type { BanCheck } from './ban-client';

const FIRST_STRIKE = { rateLimitBanAfter: 1, rateLimitBanSeconds: 300 };

/** The promises about the wait that `Retry-After` asks for. */
export const WAIT_CHECKS: readonly BanCheck[] = [
  [
    'a client that waits for Retry-After gets no strike, in the next window either',
    async (client) => {
      for (let round = 0; round < 5; round += 1) {
        for (let at = 0; at < 2; at += 1) await client.expect('admitted');
        const { windows, now } = await client.expect('limited');
        client.wait((windows.minute.resetAt - now) / 1_000);
      }
    },
    FIRST_STRIKE,
  ],
  [
    'a larger plan ends the wait of a key',
    async (client) => {
      const larger = { perMinute: 3, perDay: 9 };
      for (let at = 0; at < 3; at += 1) await client.take();
      await client.expect('admitted', client.take('key', larger));
      client.wait(2);
      await client.expect('limited', client.take('key', larger));
      client.wait(1);
      await client.expect('limited', client.take('key', larger));
    },
    FIRST_STRIKE,
  ],
  [
    'a key that waits for the last Retry-After gets no strike, even if an earlier one was longer',
    async (client) => {
      const [smaller, larger] = [
        { perMinute: 2, perDay: 1 },
        { perMinute: 2, perDay: 9 },
      ];
      await client.take('key', smaller);
      // Until midnight.
      await client.expect('limited', client.take('key', smaller));
      await client.take('other', larger);
      // Until the end of the minute, whose requests the other key then takes.
      const { windows, now } = await client.take('key', larger);
      client.wait((windows.minute.resetAt - now) / 1_000);
      for (let at = 0; at < 2; at += 1) await client.take('other', larger);
      await client.expect('limited', client.take('key', larger));
    },
    FIRST_STRIKE,
  ],
  [
    'the wait of a key ends with the window that resets last',
    async (client) => {
      const limits = { perMinute: 1, perDay: 1 };
      for (let at = 0; at < 2; at += 1) await client.take('key', limits);
      client.wait(90);
      await client.expect('banned', client.take('key', limits));
    },
    FIRST_STRIKE,
  ],
];
