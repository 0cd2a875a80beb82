import { Injectable } from '@nestjs/common';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';
import type { Counters } from './counters';

const BATCH_SIZE = 5_000;

interface Row {
  readonly owner: string;
  readonly minuteUsed: number;
  readonly minuteEndsAt: Date;
  readonly dayUsed: number;
  readonly dayEndsAt: Date;
}

const SAVE: Statement = {
  name: 'rate_limit_save',
  text: `
    INSERT INTO rate_limit_counters (owner, minute_used, minute_ends_at, day_used, day_ends_at)
    SELECT * FROM unnest($1::text[], $2::integer[], $3::timestamptz[], $4::integer[], $5::timestamptz[])
    ON CONFLICT (owner) DO UPDATE SET
      minute_used = excluded.minute_used, minute_ends_at = excluded.minute_ends_at,
      day_used = excluded.day_used, day_ends_at = excluded.day_ends_at`,
};

const LOAD: Statement = {
  name: 'rate_limit_load',
  text: `
    SELECT owner, minute_used AS "minuteUsed", minute_ends_at AS "minuteEndsAt",
           day_used AS "dayUsed", day_ends_at AS "dayEndsAt"
    FROM rate_limit_counters WHERE greatest(minute_ends_at, day_ends_at) > $1`,
};

const PURGE: Statement = {
  name: 'rate_limit_purge',
  // The earlier of two clocks and a margin: an instance with a fast clock must not delete the rows of the others.
  text: `
    DELETE FROM rate_limit_counters
    WHERE greatest(minute_ends_at, day_ends_at) < least($1, clock_timestamp()) - interval '1 hour'`,
};

/** Writes the row of this instance. Rows older than the first write may belong to instances that have stopped. */
const ANNOUNCE: Statement = {
  name: 'rate_limit_announce',
  text: `
    INSERT INTO rate_limit_instances (id, seen_at) VALUES ($1, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
    RETURNING seen_at::text AS "seenAt"`,
};

const OTHERS: Statement = {
  name: 'rate_limit_others',
  text: `
    SELECT count(*)::integer AS others FROM rate_limit_instances
    WHERE id <> $1 AND seen_at > $2::timestamptz AND seen_at > clock_timestamp() - interval '10 seconds'`,
};

const LEAVE: Statement = {
  name: 'rate_limit_leave',
  text: `DELETE FROM rate_limit_instances WHERE id = $1 OR seen_at < clock_timestamp() - interval '1 hour'`,
};

/** Stores the counters and the list of the instances that write them. */
@Injectable()
export class CountersRepository {
  constructor(private readonly sql: Sql) {}

  /** Saves in batches, which do not block the event loop, and in the order of the owners, which prevents deadlocks. */
  async save(counters: ReadonlyMap<string, Counters>): Promise<void> {
    const entries = [...counters].sort(([one], [other]) => (one < other ? -1 : 1));
    for (let at = 0; at < entries.length; at += BATCH_SIZE)
      await this.saveBatch(entries.slice(at, at + BATCH_SIZE));
  }

  private async saveBatch(entries: readonly (readonly [string, Counters])[]): Promise<void> {
    await this.sql.rows(SAVE, [
      entries.map(([owner]) => owner),
      entries.map(([, { minute }]) => minute.used),
      entries.map(([, { minute }]) => new Date(minute.endsAt)),
      entries.map(([, { day }]) => day.used),
      entries.map(([, { day }]) => new Date(day.endsAt)),
    ]);
  }

  /** Returns the counters with at least one window that has not ended. */
  async load(now: number): Promise<Map<string, Counters>> {
    const rows = await this.sql.rows<Row>(LOAD, [new Date(now)]);
    return new Map(
      rows.map(({ owner, minuteUsed, minuteEndsAt, dayUsed, dayEndsAt }) => [
        owner,
        {
          minute: { used: minuteUsed, own: 0, endsAt: minuteEndsAt.getTime() },
          day: { used: dayUsed, own: 0, endsAt: dayEndsAt.getTime() },
        },
      ]),
    );
  }

  async purge(now: number): Promise<void> {
    await this.sql.rows(PURGE, [new Date(now)]);
  }

  /** Registers the instance as running. @returns the time, by the database's clock */
  async announce(instanceId: string): Promise<string | undefined> {
    const [row] = await this.sql.rows<{ seenAt: string }>(ANNOUNCE, [instanceId]);
    return row?.seenAt;
  }

  /** Counts the other instances that have been running since a time. */
  async countOthers(instanceId: string, since: string): Promise<number> {
    const [row] = await this.sql.rows<{ others: number }>(OTHERS, [instanceId, since]);
    return row?.others ?? 0;
  }

  async leave(instanceId: string): Promise<void> {
    await this.sql.rows(LEAVE, [instanceId]);
  }
}
