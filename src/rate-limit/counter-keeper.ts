import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ApiKeysService } from '../auth';
import { Clock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { CountersRepository } from './counters.repository';
import { type Changes, MemoryRateLimitStore } from './memory.store';

const SAVE_INTERVAL_MS = 1_000;
/** Every so many ticks the instance looks for others, and what has ended is forgotten. */
const TICKS_PER_ROUND = 3;
const FINAL_SAVE_LIMIT_MS = 3_000;

/**
 * Keeps the memory store's counters and bans in Postgres: reads them at start, writes what changed every second and
 * on shutdown. So a clean stop loses nothing, and a crash at most one second of counts. With Redis it is the keeper
 * of the counters; then only bans are written, so that they are listed and survive a loss of Redis.
 */
@Injectable()
export class CounterKeeper implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(CounterKeeper.name);
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
    private readonly repository: CountersRepository,
    private readonly keys: ApiKeysService,
    private readonly clock: Clock,
    @Inject(CONFIG) { redisUrl }: Config,
  ) {
    this.keepsCounters = redisUrl === undefined;
  }

  async onModuleInit(): Promise<void> {
    const now = this.clock.now();
    this.store.load(await this.repository.load(now), await this.keys.recentBans(now));
    if (this.keepsCounters) this.announcedAt = await this.repository.announce(this.instanceId);
    this.timer = setInterval(() => this.tick(), SAVE_INTERVAL_MS).unref();
  }

  /** Runs when the last request has been answered, and before the pool is closed. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    // A database that hangs must not keep the process: then a second of counts is lost, as in a crash.
    const limit = new Promise((resolve) => setTimeout(resolve, FINAL_SAVE_LIMIT_MS).unref());
    await Promise.race([this.saveLast(), limit]);
  }

  /** One save at a time: while the database hangs, they must not queue up behind it. */
  private tick(): void {
    this.ticks += 1;
    if (this.ticks % TICKS_PER_ROUND === 0) this.store.sweep();
    this.saving ??= this.saveAndLookAround().finally(() => {
      this.saving = undefined;
    });
  }

  private async saveLast(): Promise<void> {
    await this.saving;
    await this.save();
    if (this.keepsCounters) await this.repository.leave(this.instanceId).catch(() => undefined);
  }

  private async saveAndLookAround(): Promise<void> {
    await this.save();
    if (!this.keepsCounters || this.ticks % TICKS_PER_ROUND !== 0) return;
    // Whether the database is away is told by the saves.
    await this.lookAround().catch(() => undefined);
  }

  /** Writes what has changed; what could not be written is tried again with the next save. */
  private async save(): Promise<void> {
    const changes = this.changes();
    if (changes.counters.size === 0 && changes.bans.length === 0) return;
    try {
      await this.write(changes);
      if (this.isFailing) this.logger.warn('The counters of the rate limit are saved again.');
      this.isFailing = false;
    } catch (error) {
      this.store.giveBack(changes);
      if (!this.isFailing) {
        this.logger.warn(`The counters of the rate limit cannot be saved for now: ${String(error)}`);
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
    if (bans.length > 0) await this.keys.recordBans(bans);
  }

  private async lookAround(): Promise<void> {
    await this.repository.purge(this.clock.now());
    await this.repository.announce(this.instanceId);
    const others = await this.repository.countOthers(this.instanceId, this.announcedAt ?? 'infinity');
    if (others > this.others) {
      this.logger.warn(
        `${others} other instance(s) count on the same database without Redis, and each admits the whole limit: run a single one.`,
      );
    }
    this.others = others;
  }
}
