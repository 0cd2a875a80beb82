import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandParser } from '@redis/client';
import type { Report } from './rate-limit.store';

/** Longest attempt to connect, and the pause after it: sharing resumes within a second of the return of Redis. */
export const CONNECT_LIMIT_MS = 750;
export const RETRY_MS = 200;
const PING_INTERVAL_MS = 500;
/** Closes the connection to a Redis that is frozen: it responds neither to the login nor to a ping. */
const SILENCE_LIMIT_MS = 5_000;

/** `take.lua`. The library sends its digest, and the script itself to a Redis that does not know it. */
const TAKE = {
  SCRIPT: readFileSync(join(__dirname, 'take.lua'), 'utf8'),
  NUMBER_OF_KEYS: 2,
  parseCommand(parser: CommandParser, owner: string, asked: object): void {
    // The version before, which may share the Redis, has the same keys.
    parser.pushKeys([`animal-store:{${owner}}:minute`, `animal-store:{${owner}}:day`]);
    // Without its password Redis responds NOAUTH, which helps the operator, to commands of at most ten arguments only.
    parser.push(JSON.stringify(asked));
  },
  transformReply: (reply: string): Report => JSON.parse(reply),
};

export type RedisClient = Awaited<ReturnType<typeof createRedisClient>>;

/** Creates a client that connects again after a failure, and that rejects commands while it has no connection. */
export async function createRedisClient(url: string) {
  // The library takes 0.2 s and 20 MiB, which a service without Redis need not spend.
  const { createClient, defineScript } = await import('@redis/client');
  return createClient({
    url,
    // The protocol that Redis 5 supports, too.
    RESP: 2,
    scripts: { take: defineScript(TAKE) },
    // The caller limits the time of a command: the library does so only until the command is sent.
    commandOptions: { timeout: 0 },
    // A request cannot wait for a connection, and a repeated command would count twice.
    disableOfflineQueue: true,
    // Redis may close a connection that is idle.
    pingInterval: PING_INTERVAL_MS,
    socket: {
      connectTimeout: CONNECT_LIMIT_MS,
      socketTimeout: SILENCE_LIMIT_MS,
      reconnectStrategy: RETRY_MS,
    },
  });
}

/** In how many parts of at least 1 ms a timeout is measured. */
const PARTS = 10;

/**
 * Rejects if a response does not arrive in time. A time in which this process does not run counts little: the machine is
 * busy then, and Redis, too, may wait for it. A response that has arrived when the time is over still counts.
 */
export function withTimeout<T>(limitMs: number, response: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = Math.min(PARTS, limitMs);
    const partMs = Math.ceil(limitMs / left);
    const wait = (): void => {
      left -= 1;
      if (left < 0) reject(new Error(`no response within ${limitMs} ms`));
      else if (left === 0) setImmediate(wait);
    };
    const timer = setInterval(wait, partMs);
    response.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
