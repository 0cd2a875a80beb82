import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type Clock, SystemClock } from '../platform/runtime/clock';
import { MINUTE_MS } from '../platform/runtime/time';
import { type Decision, type Look, type OwnerLimits, RateLimitStore } from './rate-limit.store';
import { type RedisClient, type RedisConnector, withTimeout } from './redis.client';

const SCRIPT = readFileSync(join(__dirname, 'take.lua'), 'utf8');
const SHA = createHash('sha1').update(SCRIPT).digest('hex');
/** The script writes nothing if a window is full, so a try also writes. A Redis that is full or read-only rejects it. */
const WRITE = "redis.call('HSET', KEYS[1], 'used', 0) return redis.call('PEXPIRE', KEYS[1], 1)";

/** The message of an error that Redis replies, such as `NOPERM …`. */
const REPLY = /^[A-Z]+ /;

/** The message, instead of NOAUTH, for a command as long as the script's. */
const NO_PASSWORD = /unauthenticated (multi)?bulk/;

/** Pause after a failure, in which this instance counts locally. */
const RETRY_MS = 200;

/**
 * The windows of all instances that share a Redis. One call of a script decides on a request.
 *
 * The first failure of any kind replaces the connection. The instance then counts locally, from its last known counters,
 * until one request has tried the new connection: a Redis that is full, loading or read-only accepts connections, too.
 * See decision 10.
 */
export class RedisRateLimitStore extends RateLimitStore implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  private client: RedisClient | undefined;
  private hasFailed = false;
  private isTrying = false;
  private retryTimer: NodeJS.Timeout | undefined;
  private isClosed = false;
  /** The clock of Redis compared with that of this machine. */
  private aheadMs = 0;

  /** @param timeoutMs longest wait for a response */
  constructor(
    clock: Clock,
    private readonly connector: Pick<RedisConnector, 'connect'>,
    private readonly timeoutMs: number,
  ) {
    super(clock);
  }

  /** The time of Redis, also while it is unavailable: a known window must not end earlier. */
  override now(): number {
    return this.clock.now() + this.aheadMs;
  }

  override get isShared(): boolean {
    return this.client !== undefined && !this.hasFailed;
  }

  onModuleInit(): Promise<void> {
    return this.connect();
  }

  /** Runs after the last response. */
  onApplicationShutdown(): void {
    this.isClosed = true;
    clearTimeout(this.retryTimer);
    this.client?.destroy();
  }

  override take(owner: string, limits: OwnerLimits): Decision | Promise<Decision> {
    const { client } = this;
    if (!client || this.isTrying) return super.take(owner, limits);
    // A slow Redis may still count the request. Counting twice is better than not at all.
    return this.ask(client, owner, limits, true).catch(() => super.take(owner, limits));
  }

  override look(owner: string, limits: OwnerLimits): Look | Promise<Look> {
    const { client } = this;
    if (!client || this.hasFailed) return super.look(owner, limits);
    return this.ask(client, owner, limits, false).catch(() => super.look(owner, limits));
  }

  /** Runs the script. After a failure, this is the one request that tries. */
  private async ask(client: RedisClient, owner: string, limits: OwnerLimits, isTaking: boolean) {
    const isTry = (this.isTrying = this.hasFailed);
    try {
      const asked = this.run(client, owner, limits, isTaking);
      const written = isTry && client.eval(WRITE, { keys: [keyOf('none', 'try')], arguments: [] });
      const [report] = await withTimeout(this.timeoutMs, Promise.all([asked, written]));
      this.aheadMs = report.now - this.clock.now();
      if (isTry && this.client === client) {
        this.hasFailed = false;
        this.logger.warn('Redis is available again. The instances share their counters again.');
      }
      return this.merge(owner, limits, report, isTaking);
    } catch (error) {
      // Other requests that were under way fail with the same connection.
      if (this.client === client) this.fail(error);
      throw error;
    } finally {
      if (isTry) this.isTrying = false;
    }
  }

  private async run(client: RedisClient, owner: string, limits: OwnerLimits, isTaking: boolean) {
    const { perMinute, perDay, windowMs = MINUTE_MS } = limits;
    // Redis tells all instances the time, unless the clock is a replacement.
    const now = this.clock instanceof SystemClock ? '' : this.clock.now();
    const { minute, day } = this.known(owner);
    const asked = [now, perMinute, windowMs, perDay ?? '', isTaking ? 'take' : 'look'];
    const known = [minute.used, minute.endsAt, day.used, day.endsAt];
    const keys = [keyOf(owner, 'minute'), keyOf(owner, 'day')];
    const input = { keys, arguments: [...asked, ...known].map(String) };
    const reply = await client.evalSha(SHA, input).catch((error: unknown) => {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      // Redis remembers the script from now on.
      return client.eval(SCRIPT, input);
    });
    const numbers = Array.isArray(reply) ? reply.map(Number) : [];
    const [admitted, at = 0, used = 0, endsAt = 0, dayUsed = 0, dayEndsAt = 0] = numbers;
    const reported = { minute: { used, endsAt }, day: { used: dayUsed, endsAt: dayEndsAt } };
    return { isAdmitted: admitted === 1, now: at, ...reported };
  }

  private async connect(): Promise<void> {
    try {
      const client = await this.connector.connect();
      // An error that Redis replies to a ping tells nothing about a request.
      client.on('error', (error) => this.client === client && !REPLY.test(error.message) && this.fail(error));
      if (this.isClosed) client.destroy();
      else this.client = client;
    } catch (error) {
      this.fail(error);
    }
  }

  /** Replaces the connection. The next one may reach another server, such as a new master. */
  private fail(error: unknown): void {
    if (this.isClosed) return;
    if (!this.hasFailed)
      this.logger.warn(
        `Redis is unavailable (${messageOf(error)}). This instance now enforces limits locally, starting from its last known counters.`,
      );
    this.hasFailed = true;
    this.client?.destroy();
    this.client = undefined;
    this.retryTimer = setTimeout(() => void this.connect(), RETRY_MS).unref();
  }
}

/** The version before, which may share the Redis, has the same keys. */
function keyOf(owner: string, name: string): string {
  return `animal-store:{${owner}}:${name}`;
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return NO_PASSWORD.test(message) ? 'NOAUTH: put its password into REDIS_URL' : message;
}
