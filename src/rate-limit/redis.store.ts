import { once } from 'node:events';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type Clock, SystemClock } from '../time/clock';
import { MINUTE_MS } from '../time/time';
import { type Decision, type OwnerLimits, RateLimitStore, type WindowsAtTime } from './rate-limit.store';
import { CONNECT_LIMIT_MS, type RedisClient, RETRY_MS, withTimeout } from './redis.client';

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

  /** Waits for the connection, but not for long for a frozen Redis, which accepts it and does not respond to the login. */
  async onModuleInit(): Promise<void> {
    const { client } = this;
    client.on('ready', () => this.reportSuccess('connection'));
    client.on('error', (error) => {
      // Otherwise Redis rejected a ping, which tells nothing about a request, or this store has closed the connection.
      if (client.isOpen && !client.isReady) this.reportFailure('connection', error);
    });
    this.connect();
    await withTimeout(CONNECT_LIMIT_MS, once(client, 'ready')).catch((error) =>
      this.reportFailure('connection', error),
    );
  }

  /** Runs after the last response. */
  onApplicationShutdown(): void {
    clearTimeout(this.retryTimer);
    this.client.destroy();
  }

  override take(owner: string, limits: OwnerLimits): Decision | Promise<Decision> {
    // A request for a window that is full here asks Redis, too: one that lost its data learns of the window.
    if (!this.client.isReady) return super.take(owner, limits);
    // A slow Redis may still count the request. Counting twice is better than not at all.
    return this.ask(owner, limits, 'take').catch(() => super.take(owner, limits));
  }

  override look(owner: string, limits: OwnerLimits): WindowsAtTime | Promise<WindowsAtTime> {
    if (!this.client.isReady) return super.look(owner, limits);
    return this.ask(owner, limits, 'look').catch(() => super.look(owner, limits));
  }

  private async ask(owner: string, limits: OwnerLimits, action: 'take' | 'look'): Promise<Decision> {
    const { client, clock } = this;
    // Redis tells all instances the time, unless the clock is a replacement.
    const now = clock instanceof SystemClock ? undefined : clock.now();
    const { perMinute, perDay, windowMs = MINUTE_MS } = limits;
    const isTaking = action === 'take';
    try {
      // Redis may have lost the windows that this instance knows.
      const asked = { now, perMinute, windowMs, perDay, action, ...this.known(owner) };
      const report = await withTimeout(this.timeoutMs, client.take(owner, asked));
      this.aheadMs = report.now - clock.now();
      if (isTaking && report.isAdmitted) this.reportSuccess('request');
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

  /** The next connection may reach another server, such as a new primary. */
  private replaceConnection(error: unknown): void {
    this.reportFailure('request', error);
    this.client.destroy();
    this.retryTimer = setTimeout(() => this.connect(), RETRY_MS);
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
