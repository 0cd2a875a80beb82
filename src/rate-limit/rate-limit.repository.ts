import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql';
import type { OwnerCounters } from './rate-limit.store';

const BATCH_SIZE = 5_000;

const SAVE = `
  INSERT INTO rate_limit_counters (owner, minute_used, minute_ends_at, day_used, day_ends_at)
  SELECT owner, (minute->>'used')::integer, to_timestamp((minute->>'endsAt')::float8 / 1000),
         (day->>'used')::integer, to_timestamp((day->>'endsAt')::float8 / 1000)
  FROM jsonb_to_recordset($1) AS counters (owner text, minute jsonb, day jsonb)
  ON CONFLICT (owner) DO UPDATE SET
    minute_used = excluded.minute_used, minute_ends_at = excluded.minute_ends_at,
    day_used = excluded.day_used, day_ends_at = excluded.day_ends_at`;

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

const READ_BANS = `
  SELECT key_id AS "keyId", (extract(epoch FROM banned_until) * 1000)::float8 AS "bannedUntil"
  FROM key_bans`;

/** The counters and the bans. Times are milliseconds since the epoch. */
@Injectable()
export class RateLimitRepository {
  constructor(private readonly sql: Sql) {}

  /** Returns the counters with at least one window that has not ended. */
  loadCounters(now: number): Promise<OwnerCounters[]> {
    return this.sql.rows(LOAD, [new Date(now)]);
  }

  /** Saves in batches, which do not block the event loop, and in the order of the owners, which prevents deadlocks. */
  async saveCounters(counters: readonly OwnerCounters[]): Promise<void> {
    const rows = counters.toSorted((one, other) => (one.owner < other.owner ? -1 : 1));
    for (let at = 0; at < rows.length; at += BATCH_SIZE)
      await this.sql.rows(SAVE, [JSON.stringify(rows.slice(at, at + BATCH_SIZE))]);
  }

  /** Deletes ended counters and bans. */
  async sweep(now: number): Promise<void> {
    await this.sql.rows(SWEEP, [new Date(now)]);
  }

  async saveBan(keyId: string, bannedUntil: number, banMs: number): Promise<void> {
    await this.sql.rows(SAVE_BAN, [keyId, new Date(bannedUntil), banMs]);
  }

  /** Also returns the bans that ended within an hour. */
  readBans(): Promise<{ readonly keyId: string; readonly bannedUntil: number }[]> {
    return this.sql.rows(READ_BANS, []);
  }
}
