import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../platform/runtime/clock';
import { BansRepository } from './bans.repository';
import { CountersRepository } from './counters.repository';
import { type Changes, MemoryRateLimitStore } from './memory.store';
import { RateLimitStore } from './rate-limit.store';

const SAVE_INTERVAL_MS = 1_000;
/** Number of ticks between two checks for other instances and two removals of expired entries. */
const TICKS_PER_ROUND = 3;
const FINAL_SAVE_LIMIT_MS = 3_000;

/**
 * Stores the memory store's counters and bans in PostgreSQL.
 *
 * It reads them at start, and writes the changes every second and on shutdown. So a clean stop loses nothing, and a crash
 * at most one second of counts. If Redis holds the counters, it writes only bans, so that they are listed and
 * survive a loss of Redis.
 */
@Injectable()
export class CounterPersistence implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(CounterPersistence.name);
  private readonly instanceId = randomUUID();
  private announcedAt: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private saving: Promise<void> | undefined;
  private ticks = 0;
  private isFailing = false;
  private others = 0;
  private readonly keepsCounters: boolean;

  constructor(
    private readonly store: MemoryRateLimitStore,
    used: RateLimitStore,
    private readonly repository: CountersRepository,
    private readonly bans: BansRepository,
    private readonly clock: Clock,
  ) {
    this.keepsCounters = used === store;
  }

  async onModuleInit(): Promise<void> {
    const now = this.clock.now();
    this.store.load(await this.repository.load(now), await this.bans.recent(now));
    if (this.keepsCounters) this.announcedAt = await this.repository.announce(this.instanceId);
    this.timer = setInterval(() => this.tick(), SAVE_INTERVAL_MS).unref();
  }

  /** Runs after the last response and before the pool closes. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    // A database that hangs must not delay the exit. It costs a second of counts, as a crash does.
    const limit = new Promise((resolve) => setTimeout(resolve, FINAL_SAVE_LIMIT_MS).unref());
    await Promise.race([this.saveLast(), limit]);
  }

  /** Saves unless a save is under way: while the database hangs, saves must not queue. */
  private tick(): void {
    this.ticks += 1;
    if (this.ticks % TICKS_PER_ROUND === 0) this.store.sweep();
    this.saving ??= this.saveAndFindOthers().finally(() => {
      this.saving = undefined;
    });
  }

  private async saveLast(): Promise<void> {
    await this.saving;
    await this.save();
    if (this.keepsCounters) await this.repository.leave(this.instanceId).catch(() => undefined);
  }

  private async saveAndFindOthers(): Promise<void> {
    await this.save();
    if (!this.keepsCounters || this.ticks % TICKS_PER_ROUND !== 0) return;
    // The saves report a database that is unavailable.
    await this.findOthers().catch(() => undefined);
  }

  /** Writes the changes. If that fails, the next save retries. */
  private async save(): Promise<void> {
    const changes = this.changes();
    if (changes.counters.size === 0 && changes.bans.length === 0) return;
    try {
      await this.write(changes);
      if (this.isFailing) this.logger.warn('The rate-limit counters are saved again.');
      this.isFailing = false;
    } catch (error) {
      this.store.giveBack(changes);
      if (!this.isFailing) {
        this.logger.warn(
          `The rate-limit counters cannot be saved. The service retries every second. Cause: ${String(error)}`,
        );
      }
      this.isFailing = true;
    }
  }

  private changes(): Changes {
    const changes = this.store.takeChanges();
    return this.keepsCounters ? changes : { ...changes, counters: new Map() };
  }

  private async write({ counters, bans }: Changes): Promise<void> {
    if (counters.size > 0) await this.repository.save(counters);
    if (bans.length > 0) await this.bans.record(bans);
  }

  private async findOthers(): Promise<void> {
    await this.repository.purge(this.clock.now());
    await this.repository.announce(this.instanceId);
    const others = await this.repository.countOthers(this.instanceId, this.announcedAt ?? 'infinity');
    if (others > this.others) {
      this.logger.warn(
        `${others} other instance(s) use the same database without Redis, and each admits the whole limit. Run one instance or set REDIS_URL.`,
      );
    }
    this.others = others;
  }
}
