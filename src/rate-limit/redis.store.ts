import { once } from 'node:events';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type Clock, SystemClock } from '../platform/runtime/clock';
import { type Decision, type Look, type OwnerLimits, RateLimitStore, tightest } from './rate-limit.store';
import { CONNECT_LIMIT_MS, type RedisClient, RETRY_MS, withTimeout } from './redis.client';

/**
 * The windows of all instances that share a Redis. One call of a script decides on a request.
 *
 * A request that Redis rejects, or responds to late, closes the connection. Until the next one is ready, the instance counts
 * locally, from its last known counters. See decision 10.
 */
export class RedisRateLimitStore extends RateLimitStore implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('RateLimit');
  /** From a failure until Redis admits a request. One that is full or read-only connects, too, and responds to `PING`. */
  private hasFailed = false;
  private retryTimer: NodeJS.Timeout | undefined;
  /** The clock of Redis compared with that of this machine. */
  private aheadMs = 0;

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
    return this.client.isReady && !this.hasFailed;
  }

  /** Waits for the first attempt to connect. */
  async onModuleInit(): Promise<void> {
    const { client } = this;
    client.on('connect', () => this.limitLogin());
    client.on('error', (error) => {
      // Otherwise Redis rejected a ping, which tells nothing about a request, or this store has closed the connection.
      if (client.isOpen && !client.isReady) this.report(error);
    });
    this.connect();
    await this.attempt();
  }

  /** Runs after the last response. */
  onApplicationShutdown(): void {
    clearTimeout(this.retryTimer);
    this.client.destroy();
  }

  override take(owner: string, limits: OwnerLimits): Decision | Promise<Decision> {
    const isFull = tightest(this.peek(owner, limits)).remaining === 0;
    // Redis would also reject the request, unless it lost its data.
    if (isFull || !this.client.isReady) return super.take(owner, limits);
    // A slow Redis may still count the request. Counting twice is better than not at all.
    return this.ask(owner, limits, 'take').catch(() => super.take(owner, limits));
  }

  override look(owner: string, limits: OwnerLimits): Look | Promise<Look> {
    if (!this.client.isReady) return super.look(owner, limits);
    return this.ask(owner, limits, 'look').catch(() => super.look(owner, limits));
  }

  private async ask(owner: string, limits: OwnerLimits, action: 'take' | 'look'): Promise<Decision> {
    const { client, clock } = this;
    // Redis tells all instances the time, unless the clock is a replacement.
    const now = clock instanceof SystemClock ? '' : clock.now();
    const isTaking = action === 'take';
    try {
      const report = await withTimeout(this.timeoutMs, client.take(owner, limits, now, action));
      this.aheadMs = report.now - clock.now();
      if (this.hasFailed && isTaking && report.isAdmitted) {
        this.hasFailed = false;
        this.logger.warn('Redis is available again. The instances share their counters again.');
      }
      return this.merge(owner, limits, report, isTaking);
    } catch (error) {
      // Other requests that were under way fail with the same connection.
      if (client.isReady) this.replaceConnection(error);
      throw error;
    }
  }

  /** The library connects until it succeeds, and reports each failure as an event. */
  private connect(): void {
    this.client.connect().catch(() => undefined);
  }

  /** Resolves when the attempt under way has succeeded or failed. */
  private attempt(): Promise<unknown> {
    const { client } = this;
    return Promise.race([once(client, 'ready'), once(client, 'end')]).catch(() => undefined);
  }

  /** A frozen Redis accepts the connection, but does not respond to the login. */
  private limitLogin(): void {
    const { client } = this;
    // The library does not end an attempt under way when the client is closed.
    if (!client.isOpen) client.destroy();
    else withTimeout(CONNECT_LIMIT_MS, this.attempt()).catch((error) => this.replaceConnection(error));
  }

  /** The next connection may reach another server, such as a new master. */
  private replaceConnection(error: unknown): void {
    this.report(error);
    this.client.destroy();
    this.retryTimer = setTimeout(() => this.connect(), RETRY_MS);
  }

  private report(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.logger.warn(
      `Redis is unavailable (${reason}). This instance now enforces limits locally, starting from its last known counters.`,
    );
  }
}
