import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, type FindOptionsWhere, Repository } from 'typeorm';
import { nameOfEnabled } from '../accounts';
import { EVENT_TYPES, NEWEST } from '../events';
import { pages } from '../platform/database/lists';
import { Sql } from '../platform/database/sql';
import { MAX_WEBHOOKS, WebhookEntity } from './webhook.entity';

export type ShownColumns = Omit<
  WebhookEntity,
  'account' | 'failingSince' | 'isIdle' | 'isSlow' | 'position' | 'replacedSecrets' | 'secret'
>;

export const webhookPages = pages<ShownColumns, 'accountId'>(
  {
    table: 'webhooks',
    columns:
      'id, account_id AS "accountId", url, types, created_at AS "createdAt", updated_at AS "updatedAt", attempts, disabled_at AS "disabledAt", due_at AS "dueAt", last_delivery_at AS "lastDeliveryAt", last_error AS "lastError", waiting_since AS "waitingSince"',
  },
  { filters: { accountId: 'account_id' } },
);

/** Concurrent creations of an account wait for each other. Orders, which refer to the row too, do not wait. */
const LOCK_ACCOUNT = 'SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE';

/** Webhooks that share places: those that failed last, those whose receiver took long, and all others. */
export type Lane = 'failing' | 'fast' | 'slow';

/** Only webhooks that may have something to deliver are in the index on this expression. */
const LANE = "(CASE WHEN attempts > 0 THEN 'failing' WHEN is_slow THEN 'slow' ELSE 'fast' END)";

/**
 * Leases webhooks that are due, longest since their last turn first. The webhooks of disabled accounts
 * wait. A time further ahead than any lease or pause of the lane was written by a wrong clock.
 *
 * Always one row or more: without a webhook `id` is null. `hasNew` is true if there are events for `WAKE`.
 */
export const lease = (columns: string) => `
  WITH due AS (
    UPDATE webhooks SET due_at = $2
    FROM unnest($3::text[], $4::int[], $5::timestamptz[]) AS places (lane, count, latest),
      LATERAL (VALUES ('-infinity', $1::timestamptz), (places.latest, 'infinity')) AS range (after, until),
      LATERAL (
        SELECT id FROM webhooks
        WHERE NOT is_idle AND disabled_at IS NULL AND ${LANE} = places.lane
          AND due_at > range.after AND due_at <= range.until AND (${nameOfEnabled('webhooks')}) IS NOT NULL
        ORDER BY due_at LIMIT places.count FOR UPDATE SKIP LOCKED
      ) AS found
    WHERE webhooks.id = found.id RETURNING ${columns}
  )
  SELECT due.*, coalesce((SELECT woken_to FROM webhook_log) < ${NEWEST}, false) AS "hasNew"
  FROM (VALUES (true)) AS one LEFT JOIN due ON true`;

/** No webhook becomes idle meanwhile, and no other instance wakes. Locks of tables are granted in order. */
const LOCK_WAKING = 'LOCK TABLE webhook_log IN SHARE ROW EXCLUSIVE MODE';

/** No instance wakes meanwhile, so that an idle webhook misses no event. */
const LOCK_IDLE = 'LOCK TABLE webhook_log IN ROW EXCLUSIVE MODE';

const MAX_NEW_EVENTS = 500;
const MAX_WOKEN = 1_000;

/** Without types a webhook has the store's own. */
const TYPES = `coalesce(types, '{${EVENT_TYPES.join()}}')`;

const isWanted = (event: string) => `${event}.type = ANY (${TYPES}) AND ${event}.id > position`;

/**
 * Wakes idle webhooks with an event among the next ones. The list of types is that of the partial index on `types`.
 *
 * @returns a row if all of them are awake
 */
export const WAKE = `
  WITH new AS MATERIALIZED (
    SELECT * FROM events WHERE id > (SELECT woken_to FROM webhook_log) AND id <= ${NEWEST}
    ORDER BY id LIMIT ${MAX_NEW_EVENTS}
  ), of_pets AS MATERIALIZED (
    SELECT type, max(id) AS id FROM new WHERE account_id IS NULL GROUP BY type
  ), of_orders AS MATERIALIZED (
    SELECT account_id, type, max(id) AS id FROM new WHERE account_id IS NOT NULL GROUP BY account_id, type
  ), found AS MATERIALIZED (
    SELECT id FROM webhooks
    WHERE is_idle AND (types IS NULL OR types && '{pet.created,pet.updated,pet.deleted}')
      AND EXISTS (SELECT FROM of_pets WHERE ${isWanted('of_pets')})
    UNION
    SELECT webhooks.id FROM of_orders JOIN webhooks USING (account_id) WHERE is_idle AND ${isWanted('of_orders')}
    LIMIT ${MAX_WOKEN}
  ), woken AS (
    UPDATE webhooks SET is_idle = false, waiting_since = (
      SELECT created_at FROM new
      WHERE ${isWanted('new')} AND (new.account_id IS NULL OR new.account_id = webhooks.account_id)
      ORDER BY new.id LIMIT 1
    ) FROM found WHERE webhooks.id = found.id
  )
  UPDATE webhook_log SET woken_to = (SELECT max(id) FROM new)
  WHERE (SELECT count(*) FROM found) < ${MAX_WOKEN} AND EXISTS (SELECT FROM new) RETURNING woken_to`;

/** The columns that a successful delivery changes. */
const DELIVERED =
  'last_delivery_at = $5, is_slow = $6, attempts = 0, failing_since = NULL, last_error = NULL,';

/** Sets the position during a lease. */
const advance = (columns: string) => `
  UPDATE webhooks SET ${DELIVERED} position = $3, due_at = $4, waiting_since = $7::timestamptz
  WHERE id = $1 AND due_at = $2 RETURNING ${columns}`;

/** Sets the position after the last event that the turn has read. The webhook is idle if none has come since then. */
const finish = (values: string) => `
  UPDATE webhooks SET ${values} position = $3, due_at = $4, waiting_since = next, is_idle = next IS NULL
  FROM (
    SELECT next_webhook_event(account_id, ${TYPES}, $3) AS next FROM webhooks WHERE id = $1 AND due_at = $2
  ) AS found
  WHERE id = $1 AND due_at = $2 RETURNING id`;

/** Webhooks with events to deliver, without those that their owner or the operator has disabled. */
const WAITING = `
  SELECT count(waiting_since)::int AS count,
    coalesce(extract(epoch FROM now() - min(waiting_since)), 0)::float8 AS seconds
  FROM webhooks
  WHERE NOT is_idle AND disabled_at IS NULL AND (${nameOfEnabled('webhooks')}) IS NOT NULL`;

const FINISH = finish('');
const FINISH_DELIVERED = finish(DELIVERED);

export interface Delivered {
  readonly at: Date;
  readonly isSlow: boolean;
}

/** The webhooks with events to deliver, and the age of the oldest of these events. */
export interface Waiting {
  readonly count: number;
  readonly seconds: number;
}

export type WebhookValues = Partial<Omit<WebhookEntity, 'account' | 'id'>>;

@Injectable()
export class WebhooksRepository {
  private readonly leaseText: string;
  private readonly advanceText: string;

  constructor(
    private readonly sql: Sql,
    @InjectRepository(WebhookEntity) private readonly entities: Repository<WebhookEntity>,
  ) {
    const columns = entities.metadata.columns.map(({ databaseName, propertyName, query }) => {
      return `${query ? `(${query('webhooks')})` : `webhooks.${databaseName}`} AS "${propertyName}"`;
    });
    this.leaseText = lease(columns.join());
    this.advanceText = advance(columns.join());
  }

  /** Inserts a webhook whose first event is the next one. @returns undefined if the account has too many */
  async insert(values: WebhookValues & Pick<WebhookEntity, 'accountId'>, transaction: EntityManager) {
    const { accountId } = values;
    await this.sql.rows(LOCK_ACCOUNT, [accountId], transaction);
    const webhooks = this.within(transaction);
    if ((await webhooks.countBy({ accountId })) >= MAX_WEBHOOKS) return undefined;
    await this.sql.rows(LOCK_IDLE, [], transaction);
    // Not the least id that may follow: in another cluster lower ones may follow (decision 35).
    const { identifiers } = await webhooks.insert({
      ...values,
      isIdle: true,
      position: () => `coalesce(${NEWEST}, 0)`,
    });
    return webhooks.findOneBy({ id: identifiers[0]?.['id'] });
  }

  find(where: FindOptionsWhere<WebhookEntity>): Promise<WebhookEntity | null> {
    return this.entities.findOneBy(where);
  }

  /** Locks the row until the transaction ends. */
  lock(where: FindOptionsWhere<WebhookEntity>, transaction: EntityManager): Promise<WebhookEntity | null> {
    return this.within(transaction).findOne({ where, lock: { mode: 'pessimistic_write' } });
  }

  /** Changes a webhook that the transaction has locked. @returns it as it is then */
  async update({ id }: WebhookEntity, values: WebhookValues, transaction: EntityManager) {
    await this.within(transaction).update({ id }, values);
    return this.within(transaction).findOneByOrFail({ id });
  }

  /** Changes a leased webhook. @returns false if another lease has begun since it was read, or it was deleted */
  async updateLeased({ id, dueAt }: WebhookEntity, values: WebhookValues): Promise<boolean> {
    return (await this.entities.update({ id, dueAt }, values)).affected === 1;
  }

  /** True if the time has passed by the clock of the database. */
  async hasPassed(time: Date): Promise<boolean> {
    return (await this.sql.rows('SELECT WHERE $1 <= now()', [time])).length > 0;
  }

  async delete({ id }: WebhookEntity, transaction: EntityManager): Promise<void> {
    await this.within(transaction).delete({ id });
  }

  /**
   * Leases webhooks that are due.
   *
   * @param places the most of each lane, and the latest time that a lease or pause of it may have
   */
  async lease(now: Date, end: Date, places: readonly (readonly [Lane, number, Date])[]) {
    const columns = [0, 1, 2].map((at) => places.map((place) => place[at]));
    const rows = await this.sql.rows<WebhookEntity & { hasNew: boolean }>(this.leaseText, [
      now,
      end,
      ...columns,
    ]);
    return { webhooks: rows.filter(({ id }) => id !== null), hasNew: rows[0]?.hasNew === true };
  }

  /** Wakes the idle webhooks that have new events to deliver, or some of them. */
  wake(): Promise<void> {
    return this.sql.transaction(async (transaction) => {
      await this.sql.rows(LOCK_WAKING, [], transaction);
      await this.sql.rows(WAKE, [], transaction);
    });
  }

  /**
   * Records a delivery before others.
   *
   * @param isOver ends the lease
   * @returns the webhook as it is then; undefined if another lease has begun
   */
  async advance(
    { id, dueAt }: WebhookEntity,
    position: bigint,
    waitingSince: Date,
    { at, isSlow }: Delivered,
    isOver: boolean,
  ): Promise<WebhookEntity | undefined> {
    const parameters = [id, dueAt, position, isOver ? at : dueAt, at, isSlow, waitingSince];
    return (await this.sql.rows<WebhookEntity>(this.advanceText, parameters))[0];
  }

  /** Ends the lease after all events up to a position, and records the last delivery. */
  async finish(
    { id, dueAt }: WebhookEntity,
    position: bigint,
    now: Date,
    delivered?: Delivered,
  ): Promise<void> {
    const parameters = [id, dueAt, position, now];
    if (delivered) await this.sql.rows(FINISH_DELIVERED, [...parameters, delivered.at, delivered.isSlow]);
    else await this.sql.rows(FINISH, parameters);
  }

  /** Counts the webhooks with events to deliver. */
  async waiting(): Promise<Waiting | undefined> {
    return (await this.sql.rows<Waiting>(WAITING, []))[0];
  }

  private within(transaction: EntityManager): Repository<WebhookEntity> {
    return transaction.withRepository(this.entities);
  }
}
