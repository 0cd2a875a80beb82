import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ApiKeysService } from '../auth';
import { Clock } from '../clock';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { oldestRelevantBan } from './bans';
import { CountersRepository } from './counters.repository';
import { type Changes, MemoryRateLimitStore } from './memory.store';

const SAVE_INTERVAL_MS = 1_000;
/** Every so many saves the instance looks for others, and what has ended is forgotten. */
const SAVES_PER_ROUND = 3;

/**
 * Keeps the memory store's counters and bans in Postgres: reads them at start, writes what changed every second and
 * on shutdown. So a clean stop loses nothing, and a crash at most one second of counts.
 */
@Injectable()
export class CounterKeeper implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(CounterKeeper.name);
  private readonly instanceId = randomUUID();
  private announcedAt: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private saving: Promise<void> = Promise.resolve();
  private saves = 0;
  private isFailing = false;
  private others = 0;

  constructor(
    private readonly store: MemoryRateLimitStore,
    private readonly repository: CountersRepository,
    private readonly keys: ApiKeysService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onModuleInit(): Promise<void> {
    const now = this.clock.now();
    const since = oldestRelevantBan(now, this.config.rateLimitBanSeconds);
    this.store.load(await this.repository.load(now), await this.keys.recentBans(since));
    this.announcedAt = await this.repository.announce(this.instanceId);
    this.timer = setInterval(() => void this.save(), SAVE_INTERVAL_MS).unref();
  }

  /** Runs when the last request has been answered, and before the pool is closed. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.save();
    if (!this.isFailing) await this.repository.leave(this.instanceId);
  }

  /** Writes what has changed. One save at a time; what could not be written is tried again with the next. */
  save(): Promise<void> {
    this.saving = this.saving.then(() => this.saveOnce());
    return this.saving;
  }

  private async saveOnce(): Promise<void> {
    const changes = this.store.takeChanges();
    try {
      await this.write(changes);
      this.saves += 1;
      if (this.saves % SAVES_PER_ROUND === 0) await this.lookAround();
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

  private async write({ counters, bans }: Changes): Promise<void> {
    if (counters.size > 0) await this.repository.save(counters);
    if (bans.length > 0) await this.keys.recordBans(bans);
  }

  private async lookAround(): Promise<void> {
    this.store.sweep();
    await this.repository.purge(this.clock.now());
    await this.repository.announce(this.instanceId);
    const others = await this.repository.countOthers(this.instanceId, this.announcedAt ?? 'infinity');
    if (others > this.others) {
      this.logger.warn(
        `${others} other instance(s) count on the same database without Redis: each admits the whole limit. Set REDIS_URL on all of them.`,
      );
    }
    this.others = others;
  }
}
