import { Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { EntityManager } from 'typeorm';
import { petEventTypes } from '../pets';
import { Sql, type Statement } from '../database/sql';
import { MAX_ITEMS } from '../api/lists/page';
import { addScrapedGauge } from '../api/scraped-gauge';
import { EVENT_TYPES, EventTypeRegistry, type TypeFilter } from './event-type-registry';

export interface StoredEvent {
  readonly id: bigint;
  readonly type: string;
  readonly createdAt: Date;
  /** JSON. */
  readonly data: string;
  /** Null for an animal. */
  readonly accountId: bigint | null;
}

/** Prints an event as clients and receivers get it. @param account the name of its account, for staff */
export function printEvent(
  { id, type, createdAt, data }: Omit<StoredEvent, 'accountId'>,
  account?: string,
): string {
  const shown = account === undefined ? data : `${data.slice(0, -1)},"account":${JSON.stringify(account)}}`;
  return `{"id":${id},"type":"${type}","createdAt":"${createdAt.toISOString()}","data":${shown}}`;
}

export interface EventFilter {
  readonly types: TypeFilter;
  readonly accountId: bigint;
  /** Those of the key; with some of them it sees the events of all accounts. */
  readonly scopes?: readonly string[];
}

/** Consecutive events. */
interface FoundEvents {
  readonly events: readonly StoredEvent[];
  /** False if events after the id were deleted, or if no event has the id: the reader has seen another database. */
  readonly isKnown: boolean;
  /** The id from which a reader continues: the last event, or the newest one of any type. */
  readonly last: bigint;
}

/** The facts of the feed, and null for the columns of an event if there is none. */
type Columns = [boolean, bigint, bigint | null, string, Date, string, bigint | null];

/** The types of events without an account. */
const OF_ANIMALS = Object.keys(petEventTypes).join();

/** The bits of an id that number the events of a transaction (decision 35). */
const POSITION_BITS = 22;

/** The least id that a running or later transaction may write. */
const END = 'event_id_of(pg_snapshot_xmin(pg_current_snapshot()))';

/** The id of the last event that readers see; null if there is none. */
export const NEWEST = `(SELECT max(id) FROM events WHERE id < ${END})`;

/**
 * The time of the first event with a higher id, among those that readers see; null without one. The parts are SQL.
 * Decision 22 explains the comparisons. Both bounds are in the index: a transaction may write many events after the end.
 */
export const firstAfter = (id: string, types: string, account: string) => `(
  SELECT created_at FROM unnest(${types}) AS wanted (name), LATERAL (
    (SELECT id, created_at FROM events
      WHERE wanted.name = ANY ('{${OF_ANIMALS}}')
        AND type = ANY (ARRAY[wanted.name]) AND id > ${id} AND id < (SELECT ${END})
      ORDER BY type, id LIMIT 1)
    UNION ALL
    (SELECT id, created_at FROM events
      WHERE wanted.name <> ALL ('{${OF_ANIMALS}}') AND account_id IS NOT NULL
        AND (account_id, type, id) > (${account}, wanted.name, ${id})
        AND (account_id, type, id) < (${account}, wanted.name, (SELECT ${END}))
      ORDER BY account_id, type, id LIMIT 1)
  ) AS next ORDER BY id LIMIT 1)`;

/** The events of each type. Decision 22 explains the row comparison, which reads one row if a type has no event. */
const wanted = (types: string, columns: string[], values: string[], condition = 'true') => {
  const from = (id: string, count: number) => `
    SELECT * FROM events
    WHERE ${condition} AND (${columns.join()}, id) >= (${values.join()}, ${id}) AND ${columns[0]} <= ${values[0]}
    ORDER BY ${columns.join()}, id LIMIT ${count}`;
  return `
    SELECT found.* FROM unnest((SELECT ${types}::text[])) AS wanted (type),
      LATERAL (${from('(SELECT start + 1 FROM log)', 1)}) AS next,
      LATERAL (SELECT * FROM (${from('next.id', MAX_ITEMS)}) AS few LIMIT $2) AS found
    WHERE next.type = wanted.type AND next.id < (SELECT "end" FROM log)
      AND found.type = wanted.type AND found.id < (SELECT "end" FROM log)`;
};

/**
 * Each type is a range of an index, so a page costs the same at any depth. A running transaction may write events from
 * `end` on. After a crash PostgreSQL numbers transactions without a commit again, so a reader continues from an event,
 * never from `end`. A cursor may name the last int64, which none follows. Parameters: the id before the events, their
 * number, the types without an account, the types of an account's orders, and this account.
 */
export const READ: Statement = {
  isPipelined: true,
  read: ([isKnown, newest, id, type, createdAt, data, accountId]: Columns) => ({
    isKnown,
    last: newest,
    events: id === null ? [] : [{ id, type, createdAt, data, accountId }],
  }),
  text: `
    WITH log AS MATERIALIZED (
      SELECT least(greatest($1, removed_to), 9223372036854775806) AS start, ${END} AS "end",
        $1 = removed_to OR EXISTS (SELECT FROM events WHERE id = $1 AND id > removed_to) AS is_known
      FROM event_log LIMIT 1
    )
    SELECT is_known, greatest((SELECT max(id) FROM events WHERE id < (SELECT "end" FROM log)), start), page.*
    FROM log LEFT JOIN (
      SELECT id, type, created_at, data, account_id FROM (
        ${wanted('$3', ['type'], ['wanted.type'])}
        UNION ALL
        ${wanted('$4', ['account_id', 'type'], ['(SELECT $5::bigint)', 'wanted.type'], 'account_id IS NOT NULL')}
      ) AS found ORDER BY id LIMIT $2
    ) AS page ON true
    ORDER BY id`,
};

const HIDDEN = `
  SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 AS seconds
  FROM events WHERE id >= ${END} ORDER BY id LIMIT 1`;

const IS_MOVED = 'SELECT FROM event_log WHERE cluster <> event_cluster()';

/** No running change may miss new numbers. */
const LOCK_CHANGES = 'LOCK TABLE pets, store_orders IN SHARE ROW EXCLUSIVE MODE';

/**
 * In another cluster, such as after a restore, transactions have other numbers: later ids exceed any that a reader has.
 */
const RENUMBER = `
  UPDATE event_log SET cluster = event_cluster(), shift = newest + (1 << 24) - pg_current_xact_id()::text::bigint
  FROM (SELECT greatest((SELECT max(id) FROM events), removed_to) >> ${POSITION_BITS} AS newest FROM event_log) AS found
  WHERE cluster <> event_cluster() RETURNING shift`;

/** Deletes the oldest events, by the earlier of two clocks. The constant LIMIT gives the plan an index (decision 22). */
const REMOVE = `
  WITH oldest AS MATERIALIZED (SELECT id, created_at FROM events ORDER BY id LIMIT 1000),
    old AS MATERIALIZED (
      SELECT id FROM oldest WHERE id <= (
        SELECT max(id) FROM oldest WHERE created_at < least($2, now()) - make_interval(days => $1)
      )
    ),
    removed AS (DELETE FROM events WHERE id = ANY (ARRAY(SELECT id FROM old)))
  UPDATE event_log SET removed_to = greatest(removed_to, (SELECT max(id) FROM old))
  WHERE EXISTS (SELECT FROM old) RETURNING removed_to`;

@Injectable()
export class EventsRepository {
  constructor(
    private readonly sql: Sql,
    private readonly types: EventTypeRegistry,
    registry: Registry,
  ) {
    const help =
      'Age of the oldest event that readers do not see yet, because a transaction is open (decision 35).';
    addScrapedGauge(registry, sql, 'animal_store_events_hidden_seconds', help, HIDDEN);
  }

  /** Reads at most `count` events after an id, and at most MAX_ITEMS. No event with an earlier id appears later. */
  async read(
    after: bigint,
    count: number,
    { types, accountId, scopes }: EventFilter,
    transaction?: EntityManager,
  ): Promise<FoundEvents> {
    const isOfAll = (type: string) => this.types.isOfAll(type, scopes);
    const size = Math.min(count, MAX_ITEMS);
    const wantedTypes = types ?? EVENT_TYPES;
    const own = wantedTypes.filter((type) => !isOfAll(type));
    const parameters = [after, size, wantedTypes.filter(isOfAll), own, accountId];
    const found = await this.sql.rows<FoundEvents>(READ, parameters, transaction);
    const [{ isKnown, last: newest } = { isKnown: false, last: after }] = found;
    const events = found.flatMap((row) => row.events);
    return { events, isKnown, last: (events.length < size ? undefined : events.at(-1)?.id) ?? newest };
  }

  /** Writes an event of an account. @param data JSON */
  async add(type: string, data: string, accountId: bigint, transaction: EntityManager): Promise<void> {
    await this.sql.rows('SELECT record_event($1, $2, $3)', [accountId, type, data], transaction);
  }

  /** Makes the ids ascend in a restored database, too. */
  async prepare(): Promise<void> {
    if ((await this.sql.rows(IS_MOVED, [])).length === 0) return;
    await this.sql.transaction(async (transaction) => {
      await this.sql.rows(LOCK_CHANGES, [], transaction);
      await this.sql.rows(RENUMBER, [], transaction);
    });
  }

  /** Deletes a batch of events that are older than some days, the oldest first. @returns false if there are none */
  async removeOld(days: number, now: Date): Promise<boolean> {
    return (await this.sql.rows(REMOVE, [days, now])).length > 0;
  }
}
