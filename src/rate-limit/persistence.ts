import { Injectable } from '@nestjs/common';
import { Clock } from '../time/clock';
import { PeriodicWork } from '../time/periodic-work';
import { SECOND_MS } from '../time/time';
import { Bans } from './bans';
import { RateLimitRepository } from './rate-limit.repository';
import { RateLimitStore } from './rate-limit.store';

/** Number of runs between two removals of ended entries. */
const RUNS_PER_SWEEP = 3;

/**
 * Keeps counters and bans in PostgreSQL.
 *
 * It reads them at start, and writes the changes every second and on shutdown. So a clean stop loses nothing, and a crash
 * at most one second. If Redis holds the counters, it writes only bans. It reads the bans of all instances every second.
 */
@Injectable()
export class Persistence extends PeriodicWork {
  private runs = 0;

  constructor(
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    private readonly repository: RateLimitRepository,
    private readonly clock: Clock,
  ) {
    super('The saving of rate-limit counters and bans', SECOND_MS, true);
  }

  override async onModuleInit(): Promise<void> {
    this.store.load(await this.repository.loadCounters(this.clock.now()));
    await this.bans.read();
    await super.onModuleInit();
  }

  override async run(): Promise<void> {
    this.runs += 1;
    const isSweep = this.runs % RUNS_PER_SWEEP === 0;
    if (isSweep) this.store.sweep();
    const { unsaved } = this.store;
    const owners = [...unsaved];
    unsaved.clear();
    try {
      const counters = owners.map((owner) => ({ owner, ...this.store.known(owner) }));
      // Those that this instance counts while it has no Redis: a restart must not forget them.
      if (!this.store.isShared) await this.repository.saveCounters(counters);
      await this.bans.save();
      await this.bans.read();
      if (isSweep) await this.repository.sweep(this.clock.now());
    } catch (error) {
      for (const owner of owners) unsaved.add(owner);
      throw error;
    }
  }
}
