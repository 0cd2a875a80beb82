import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { CommandParser } from '@redis/client';
import { type Clock, SystemClock } from '../time/clock';
import { MINUTE_MS } from '../time/time';
import { type Decision, type OwnerLimits, RateLimitStore, type Report } from './rate-limit.store';

/** Longest attempt to connect, and the pause after it: sharing resumes within a second of the return of Redis. */
const CONNECT_LIMIT_MS = 750;
const RETRY_MS = 200;
const PING_INTERVAL_MS = 500;

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
    socket: { connectTimeout: CONNECT_LIMIT_MS, reconnectStrategy: RETRY_MS },
  });
}

/**
 * The windows of all instances that share a Redis. One call of a script decides on a request.
 *
 * A request that Redis rejects, or responds to late, closes the connection. Until the next one is ready, the instance counts
 * locally, from its last known counters. See decision 10.
 */
export class RedisRateLimitStore extends RateLimitStore implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  /**
   * The first failure since Redis was available. That of a connection lasts until the next one is ready: the primary
   * process of workers sends no requests. That of a request lasts until Redis admits one: a full or read-only Redis, too,
   * accepts connections and responds to `PING`.
   */
  private failed: 'connection' | 'request' | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  /** The clock of Redis compared with that of this machine. */
  private aheadMs = 0;
  /** The library connects until it succeeds, and reports each failure as an event. */
  private readonly connect = () => void this.client.connect().catch(() => undefined);

  /** @param timeoutMs longest wait for a response */
  constructor(
    clock: Clock,
    private readonly client: RedisClient,
    private readonly timeoutMs: number,
  ) {
    super(clock);
  }

  /** The time of Redis, also while it is unavailable: a known window must not end earlier. */
  override now(): number {
    return this.clock.now() + this.aheadMs;
  }

  override get isShared(): boolean {
    return this.client.isReady && !this.failed;
  }

  /** Waits for the first attempt to connect. */
  async onModuleInit(): Promise<void> {
    const { client } = this;
    client.on('connect', () => this.limitLogin());
    client.on('ready', () => this.reportSuccess('connection'));
    client.on('error', (error) => {
      // Otherwise Redis rejected a ping, which tells nothing about a request, or this store has closed the connection.
      if (client.isOpen && !client.isReady) this.reportFailure('connection', error);
    });
    this.connect();
    await this.attempt();
  }

  /** Runs after the last response. */
  onApplicationShutdown(): void {
    clearTimeout(this.retryTimer);
    this.client.destroy();
  }

  override take(owner: string, limits: OwnerLimits, isCounted = true): Decision | Promise<Decision> {
    // A request for a window that is full here asks Redis, too: one that lost its data learns of the window.
    if (!this.client.isReady) return super.take(owner, limits, isCounted);
    // A slow Redis may still count the request. Counting twice is better than not at all.
    return this.ask(owner, limits, isCounted).catch(() => super.take(owner, limits, isCounted));
  }

  private async ask(owner: string, limits: OwnerLimits, isCounted: boolean): Promise<Decision> {
    const { client, clock } = this;
    // Redis tells all instances the time, unless the clock is a replacement.
    const now = clock instanceof SystemClock ? undefined : clock.now();
    try {
      // Redis may have lost the windows that this instance knows.
      const asked = { now, windowMs: MINUTE_MS, ...limits, isCounted, ...this.known(owner) };
      const report = await withTimeout(this.timeoutMs, client.take(owner, asked));
      this.aheadMs = report.now - clock.now();
      if (isCounted && report.isAdmitted) this.reportSuccess('request');
      return this.merge(owner, limits, report, isCounted);
    } catch (error) {
      // Other requests that were under way fail with the same connection.
      if (client.isReady) this.replaceConnection('request', error);
      throw error;
    }
  }

  /** Resolves when the attempt under way has succeeded or failed. */
  private attempt(): Promise<unknown> {
    const { client } = this;
    return Promise.race([once(client, 'ready'), once(client, 'end')]).catch(() => undefined);
  }

  /** A frozen Redis accepts the connection, but does not respond to the login. */
  private limitLogin(): void {
    // The library does not end an attempt under way when the client is closed.
    if (!this.client.isOpen) return this.client.destroy();
    const replace = (error: unknown) => this.replaceConnection('connection', error);
    withTimeout(CONNECT_LIMIT_MS, this.attempt()).catch(replace);
  }

  /** The next connection may reach another server, such as a new primary. */
  private replaceConnection(failed: 'connection' | 'request', error: unknown): void {
    this.reportFailure(failed, error);
    this.client.destroy();
    this.retryTimer = setTimeout(this.connect, RETRY_MS);
  }

  private reportSuccess(what: 'connection' | 'request'): void {
    if (this.failed !== what) return;
    this.failed = undefined;
    this.logger.warn('Redis is available again. The instances share their counters again.');
  }

  private reportFailure(what: 'connection' | 'request', error: unknown): void {
    if (this.failed) return;
    this.failed = what;
    const reason = error instanceof Error ? error.message : String(error);
    this.logger.warn(
      `Redis is unavailable (${reason}). This instance now enforces limits locally, starting from its last known counters.`,
    );
  }
}

/** In how many parts of at least 1 ms a timeout is measured. */
const PARTS = 10;

/**
 * Rejects if a response does not arrive in time. A time in which this process does not run counts little: the machine is
 * busy then, and Redis, too, may wait for it. A response that has arrived when the time is over still counts.
 */
function withTimeout<T>(limitMs: number, response: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = Math.min(PARTS, limitMs);
    const wait = (): void => {
      left -= 1;
      if (left < 0) reject(new Error(`no response within ${limitMs} ms`));
      else if (left === 0) setImmediate(wait);
    };
    const timer = setInterval(wait, Math.ceil(limitMs / left));
    response.then(resolve, reject).finally(() => clearInterval(timer));
  });
}
