import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import { Bans } from './bans';
import { RateLimitRepository } from './rate-limit.repository';
import { RateLimitStore } from './rate-limit.store';
import { RedisRateLimitStore } from './redis.store';

const INTERVAL_MS = 1_000;
/** Number of ticks between two checks for other instances and two removals of ended entries. */
const TICKS_PER_ROUND = 3;
const FINAL_SAVE_LIMIT_MS = 3_000;

/**
 * Keeps counters and bans in PostgreSQL.
 *
 * It reads them at start, and writes the changes every second and on shutdown. So a clean stop loses nothing, and a crash
 * at most one second. If Redis holds the counters, it writes only bans. It reads the bans of all instances every second,
 * and registers this instance as running every three.
 */
@Injectable()
export class Persistence implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Persistence.name);
  private readonly instanceId = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private ticks = 0;
  private isFailing = false;
  private mostOthers = 0;

  constructor(
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    private readonly repository: RateLimitRepository,
    private readonly clock: Clock,
  ) {}

  async onModuleInit(): Promise<void> {
    this.store.load(await this.repository.loadCounters(this.clock.now()));
    await this.bans.read();
    await this.repository.findOthers(this.instanceId, this.clock.now());
    this.timer = setInterval(() => this.tick(), INTERVAL_MS).unref();
  }

  /** Runs after the last response and before the pool closes. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    // A database that hangs must not delay the exit. It costs a second of counts, as a crash does.
    const limit = new Promise((resolve) => setTimeout(resolve, FINAL_SAVE_LIMIT_MS).unref());
    const leave = async (): Promise<void> => {
      await this.running;
      await this.save();
      await this.repository.leave(this.instanceId).catch(() => undefined);
    };
    await Promise.race([leave(), limit]);
  }

  /** Does nothing while the last tick is under way: work must not queue while the database hangs. */
  private tick(): void {
    this.ticks += 1;
    const isRound = this.ticks % TICKS_PER_ROUND === 0;
    if (isRound) this.store.sweep();
    this.running ??= this.save(isRound).finally(() => (this.running = undefined));
  }

  /** Writes the changes, and reads the bans. If that fails, the next tick retries. */
  private async save(isRound = false): Promise<void> {
    const changes = this.store.takeChanges();
    try {
      // Those that this instance counts while it has no Redis: a restart must not forget them.
      if (!this.store.isShared) await this.repository.saveCounters(changes);
      await this.bans.save();
      await this.bans.read();
      if (isRound) await this.findOthers();
      if (this.isFailing) this.logger.warn('The rate-limit counters and bans are saved again.');
      this.isFailing = false;
    } catch (error) {
      this.store.giveBack(changes);
      if (!this.isFailing) {
        this.logger.warn(
          `The rate-limit counters and bans cannot be saved. The service retries every second. Cause: ${String(error)}`,
        );
      }
      this.isFailing = true;
    }
  }

  private async findOthers(): Promise<void> {
    const others = await this.repository.findOthers(this.instanceId, this.clock.now());
    if (this.store instanceof RedisRateLimitStore || others <= this.mostOthers) return;
    this.mostOthers = others;
    this.logger.warn(
      `${others} other instance(s) use the same database without Redis, and each admits the whole limit. Run one instance or set REDIS_URL.`,
    );
  }
}
