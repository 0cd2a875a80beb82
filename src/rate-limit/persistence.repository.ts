import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql';
import { Clock } from '../time/clock';
import { PeriodicWork } from '../time/periodic-work';
import { SECOND_MS } from '../time/time';
import { Bans } from './bans';
import { RateLimitStore } from './rate-limit.store';

/** Number of runs between two removals of ended entries. */
const RUNS_PER_SWEEP = 3;

const BATCH_SIZE = 5_000;

const SAVE = `
  INSERT INTO rate_limit_counters (owner, minute_used, minute_ends_at, day_used, day_ends_at)
  SELECT owner, (minute->>'used')::integer, to_timestamp((minute->>'endsAt')::float8 / 1000),
         (day->>'used')::integer, to_timestamp((day->>'endsAt')::float8 / 1000)
  FROM jsonb_to_recordset($1) AS counters (owner text, minute jsonb, day jsonb)
  ON CONFLICT (owner) DO UPDATE SET
    minute_used = excluded.minute_used, minute_ends_at = excluded.minute_ends_at,
    day_used = CASE rate_limit_counters.day_ends_at WHEN excluded.day_ends_at
      THEN greatest(rate_limit_counters.day_used, excluded.day_used) ELSE excluded.day_used END,
    day_ends_at = excluded.day_ends_at`;

const LOAD = `
  SELECT owner,
         json_build_object('used', minute_used, 'endsAt', (extract(epoch FROM minute_ends_at) * 1000)::bigint) AS minute,
         json_build_object('used', day_used, 'endsAt', (extract(epoch FROM day_ends_at) * 1000)::bigint) AS day
  FROM rate_limit_counters WHERE greatest(minute_ends_at, day_ends_at) > $1`;

/** The margin and the earlier of two clocks keep the rows of other instances. */
const SWEEP = `
  WITH ended AS (
    DELETE FROM key_bans WHERE banned_until < least($1, now()) - interval '1 hour'
  )
  DELETE FROM rate_limit_counters
  WHERE greatest(minute_ends_at, day_ends_at) < least($1, now()) - interval '1 hour'`;

/** A ban ends at most $3 ms from now by the clock of the database: this clock may be ahead. */
const SAVE_BAN = `
  INSERT INTO key_bans (key_id, banned_until) VALUES ($1, least($2, now() + $3::float8 * interval '1 ms'))
  ON CONFLICT (key_id) DO UPDATE SET banned_until = excluded.banned_until`;

/** Has also the bans that ended within an hour. */
const READ_BANS = `
  SELECT key_id AS "keyId", (extract(epoch FROM banned_until) * 1000)::float8 AS "bannedUntil"
  FROM key_bans`;

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
    private readonly sql: Sql,
    private readonly store: RateLimitStore,
    private readonly bans: Bans,
    private readonly clock: Clock,
  ) {
    super('The saving of rate-limit counters and bans', SECOND_MS, true);
  }

  override async onModuleInit(): Promise<void> {
    this.store.load(await this.sql.rows(LOAD, [new Date(this.clock.now())]));
    await this.readBans();
    await super.onModuleInit();
  }

  override async run(): Promise<void> {
    this.runs += 1;
    const isSweep = this.runs % RUNS_PER_SWEEP === 0;
    if (isSweep) this.store.sweep();
    await this.saveCounters();
    for (const [keyId, bannedUntil] of this.bans.unsaved) {
      await this.sql.rows(SAVE_BAN, [keyId, new Date(bannedUntil), this.bans.banMs]);
      this.bans.unsaved.delete(keyId);
    }
    await this.readBans();
    if (isSweep) await this.sql.rows(SWEEP, [new Date(this.clock.now())]);
  }

  /** Saves in batches, which do not block the event loop, and in the order of the owners, which prevents deadlocks. */
  private async saveCounters(): Promise<void> {
    const { store } = this;
    const owners = [...store.unsaved].toSorted();
    store.unsaved.clear();
    // Those that this instance counts while it has no Redis: a restart must not forget them.
    for (let at = 0; at < owners.length && !store.isShared; at += BATCH_SIZE) {
      const counters = owners.slice(at, at + BATCH_SIZE).map((owner) => ({ owner, ...store.known(owner) }));
      try {
        await this.sql.rows(SAVE, [JSON.stringify(counters)]);
      } catch (error) {
        for (const owner of owners) store.unsaved.add(owner);
        throw error;
      }
    }
  }

  private async readBans(): Promise<void> {
    if (this.bans.banAfter > 0) this.bans.replace(await this.sql.rows(READ_BANS, []));
  }
}
