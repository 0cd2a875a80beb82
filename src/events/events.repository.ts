import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql, type Statement } from '../platform/database/sql';

/** The types of events, by the kind of what changed. */
const PET_TYPES = ['pet.created', 'pet.updated', 'pet.deleted'] as const;
const ORDER_TYPES = ['order.placed', 'order.approved', 'order.delivered', 'order.cancelled'] as const;

export const EVENT_TYPES = [...PET_TYPES, ...ORDER_TYPES] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** An event as it is stored. */
export interface StoredEvent {
  readonly id: bigint;
  readonly type: EventType;
  readonly createdAt: Date;
  /** JSON. */
  readonly data: string;
  /** Of an order, the account that placed it; null for an animal. */
  readonly accountId: bigint | null;
}

/** Which events a reader sees. */
export interface EventFilter {
  /** Default: all. */
  readonly types?: readonly EventType[] | undefined;
  /** The account whose orders are seen; undefined for those of every account. */
  readonly accountId: bigint | undefined;
}

/** Consecutive events. */
interface FoundEvents {
  readonly events: readonly StoredEvent[];
  /** Events up to this id were deleted. */
  readonly removedTo: bigint;
  /** Events from this id on are not read yet, because a running transaction may write earlier ones. */
  readonly end: bigint;
}

/** The bounds, and null for the columns of an event if there is none. */
type Columns = [bigint, bigint, bigint | null, EventType, Date, string, bigint | null];

/** The least id that a running or later transaction may write. */
export const END = 'event_id_of(pg_snapshot_xmin(pg_current_snapshot()))';

/** The row comparisons and the order need the index on these columns: with `type =` a rare type would read all events. */
const wanted = (types: string, columns: string, values: string, condition = 'true') => `
  SELECT events.* FROM unnest(${types}::text[]) AS wanted (type), LATERAL (
    SELECT * FROM events
    WHERE (${columns}, id) > (${values}, $1) AND (${columns}, id) < (${values}, ${END}) AND ${condition}
    ORDER BY ${columns}, id LIMIT $2
  ) AS events`;

/**
 * Each type is a range of an index, so a page costs the same at any depth. Parameters: the id before the events, their
 * number, the types without an account, the types of an account's orders, and this account.
 */
const READ: Statement = {
  isPipelined: true,
  read: ([removedTo, end, id, type, createdAt, data, accountId]: Columns) => ({
    removedTo,
    end,
    events: id === null ? [] : [{ id, type, createdAt, data, accountId }],
  }),
  text: `
    SELECT removed_to, ${END}, page.* FROM event_log LEFT JOIN (
      SELECT id, type, created_at, data, account_id
      FROM (${wanted('$3', 'events.type', 'wanted.type')}
        UNION ALL ${wanted('$4', 'account_id, events.type', '$5::bigint, wanted.type', 'account_id IS NOT NULL')}) AS found
      ORDER BY id LIMIT $2
    ) AS page ON true
    ORDER BY id`,
};

/** In another cluster, such as after a restore, transactions have other numbers. Later ids exceed those of any reader. */
const RENUMBER = `
  UPDATE event_log SET
    cluster = system_identifier,
    shift = (greatest((SELECT max(id) FROM events), removed_to) >> 22) + (1 << 24) - pg_current_xact_id()::text::bigint
  FROM pg_control_system() WHERE cluster <> system_identifier RETURNING shift`;

/** The statements that switch the triggers on or off. */
const SWITCHES = `
  SELECT format('ALTER TABLE %s %s TRIGGER %I', tgrelid::regclass, CASE WHEN $1 THEN 'ENABLE' ELSE 'DISABLE' END, tgname) AS text
  FROM pg_trigger
  WHERE tgfoid IN ('record_pet_events'::regproc, 'record_order_events'::regproc) AND (tgenabled <> 'D') <> $1`;

/** Deletes the oldest events in the order of their ids, at most $2 of them. */
const REMOVE = `
  WITH removed AS (
    DELETE FROM events WHERE id <= (
      SELECT max(id) FROM (SELECT id, created_at FROM events ORDER BY id LIMIT $2) AS oldest WHERE created_at < $1
    ) RETURNING id
  )
  UPDATE event_log SET removed_to = newest FROM (SELECT max(id) AS newest, count(*) AS count FROM removed) AS found
  WHERE newest IS NOT NULL RETURNING count`;

@Injectable()
export class EventsRepository {
  constructor(private readonly sql: Sql) {}

  /** Reads at most `count` events after an id. No event with an earlier id appears later. */
  async read(
    after: bigint,
    count: number,
    filter: EventFilter,
    transaction?: EntityManager,
  ): Promise<FoundEvents> {
    const { types = EVENT_TYPES, accountId } = filter;
    const isOwn = (type: EventType) => accountId !== undefined && type.startsWith('order.');
    const parameters = [
      after,
      count,
      types.filter((type) => !isOwn(type)),
      types.filter(isOwn),
      accountId ?? null,
    ];
    const found = await this.sql.rows<FoundEvents>(READ, parameters, transaction);
    const [{ removedTo, end } = { removedTo: 0n, end: 0n }] = found;
    return { removedTo, end, events: found.flatMap(({ events }) => events) };
  }

  /** Makes changes of animals and orders write events, or not. Ids ascend in a restored database, too. */
  async prepare(isOn: boolean): Promise<void> {
    await this.sql.transaction(async (transaction) => {
      await this.sql.rows(RENUMBER, [], transaction);
      for (const { text } of await this.sql.rows<{ text: string }>(SWITCHES, [isOn], transaction))
        await transaction.query(text);
    });
  }

  /** Deletes at most `count` events from before a time, the oldest first. @returns their number */
  async removeBefore(time: Date, count: number): Promise<number> {
    const [removed] = await this.sql.rows<{ count: bigint }>(REMOVE, [time, count]);
    return Number(removed?.count ?? 0);
  }
}
