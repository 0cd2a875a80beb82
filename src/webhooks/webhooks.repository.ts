import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, type FindOptionsWhere, Repository } from 'typeorm';
import { nameOfEnabled } from '../accounts';
import { NEWEST } from '../events';
import { pages } from '../platform/database/lists';
import { Sql } from '../platform/database/sql';
import { MAX_WEBHOOKS, waitingSince, WebhookEntity } from './webhook.entity';

export type ShownColumns = Omit<
  WebhookEntity,
  'account' | 'failingSince' | 'isSlow' | 'position' | 'replacedSecrets' | 'secret'
>;

export const webhookPages = pages<ShownColumns, 'accountId'>(
  {
    table: `(SELECT *, ${waitingSince('webhooks')} AS waiting_since FROM webhooks) AS listed`,
    columns:
      'id, account_id AS "accountId", url, types, created_at AS "createdAt", updated_at AS "updatedAt", attempts, disabled_at AS "disabledAt", due_at AS "dueAt", last_delivery_at AS "lastDeliveryAt", last_error AS "lastError", waiting_since AS "waitingSince"',
  },
  { filters: { accountId: 'account_id' } },
);

/** Concurrent creations of an account wait for each other. Orders, which refer to the row too, do not wait. */
const LOCK_ACCOUNT = 'SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE';

/** Webhooks that share places: those that failed last or whose receiver took long, and all others. */
const IS_HINDERED = '(attempts > 0 OR is_slow)';

const IS_ENABLED = `disabled_at IS NULL AND (${nameOfEnabled('webhooks')}) IS NOT NULL`;

/**
 * Leases webhooks that are due and have an event to deliver, longest since their last turn first. A time further ahead than
 * any lease or pause of the lane was written by a wrong clock. If the newest event is known, only webhooks that were due
 * lately are read: no other can have got an event.
 *
 * Always one row or more, with the newest event: without a webhook `id` is null.
 */
export const lease = (columns: string) => `
  WITH log AS MATERIALIZED (SELECT coalesce(${NEWEST}, 0) AS newest),
  due AS (
    UPDATE webhooks SET due_at = $2
    FROM unnest($3::boolean[], $4::int[], $5::timestamptz[]) AS places (is_hindered, count, latest),
      LATERAL (VALUES
        ((SELECT CASE WHEN newest = $6 THEN $7 ELSE '-infinity'::timestamptz END FROM log), $1::timestamptz),
        (places.latest, 'infinity')
      ) AS range (after, until),
      LATERAL (
        SELECT id FROM webhooks
        WHERE ${IS_HINDERED} = places.is_hindered AND due_at > range.after AND due_at <= range.until
          AND ${IS_ENABLED} AND ${waitingSince('webhooks')} IS NOT NULL
        ORDER BY due_at LIMIT places.count FOR UPDATE SKIP LOCKED
      ) AS found
    WHERE webhooks.id = found.id RETURNING ${columns}
  )
  SELECT due.*, newest FROM log LEFT JOIN due ON true`;

/** Records a delivery during a lease, which ends with the given time. */
const advance = (columns: string) => `
  UPDATE webhooks SET position = $3, due_at = $4, last_delivery_at = $5, is_slow = $6, attempts = 0,
    failing_since = NULL, last_error = NULL
  WHERE id = $1 AND due_at = $2 RETURNING ${columns}`;

/** Webhooks with events to deliver, without those that their owner or the operator has disabled. */
const WAITING = `
  SELECT count(since)::int AS count, coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS seconds
  FROM (SELECT ${waitingSince('webhooks')} AS since FROM webhooks WHERE ${IS_ENABLED}) AS found`;

export type WebhookValues = Partial<Omit<WebhookEntity, 'account' | 'id'>>;

@Injectable()
export class WebhooksRepository {
  private readonly leaseText: string;
  private readonly advanceText: string;

  constructor(
    private readonly sql: Sql,
    @InjectRepository(WebhookEntity) private readonly entities: Repository<WebhookEntity>,
  ) {
    const shown = entities.metadata.columns.map(({ databaseName, propertyName, query }) => {
      return `${query ? `(${query('webhooks')})` : `webhooks.${databaseName}`} AS "${propertyName}"`;
    });
    // A delivery needs no question for the time of the next event.
    const columns = shown.filter((column) => !column.endsWith('"waitingSince"')).join();
    this.leaseText = lease(columns);
    this.advanceText = advance(columns);
  }

  /** Inserts a webhook whose first event is the next one. @returns undefined if the account has too many */
  async insert(values: WebhookValues & Pick<WebhookEntity, 'accountId'>, transaction: EntityManager) {
    const { accountId } = values;
    await this.sql.rows(LOCK_ACCOUNT, [accountId], transaction);
    const webhooks = this.within(transaction);
    if ((await webhooks.countBy({ accountId })) >= MAX_WEBHOOKS) return undefined;
    // Not the least id that may follow: in another cluster lower ones may follow (decision 35).
    const { identifiers } = await webhooks.insert({
      ...values,
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
   * Leases webhooks that are due and have an event to deliver.
   *
   * @param places of webhooks that are hindered or not: the most, and the latest time that a lease or pause may have
   * @param known the newest event for which all were looked at, and since when others were due
   */
  async lease(
    now: Date,
    end: Date,
    places: readonly (readonly [isHindered: boolean, count: number, latest: Date])[],
    known: readonly [newest: bigint | undefined, since: Date],
  ) {
    const columns = [0, 1, 2].map((at) => places.map((place) => place[at]));
    const parameters = [now, end, ...columns, ...known];
    const rows = await this.sql.rows<WebhookEntity & { newest: bigint }>(this.leaseText, parameters);
    return { webhooks: rows.filter(({ id }) => id !== null), newest: rows[0]?.newest };
  }

  /**
   * Records a delivery.
   *
   * @param isOver ends the lease
   * @returns the webhook as it is then; undefined if another lease has begun
   */
  async advance(
    { id, dueAt }: WebhookEntity,
    position: bigint,
    at: Date,
    isSlow: boolean,
    isOver: boolean,
  ): Promise<WebhookEntity | undefined> {
    const parameters = [id, dueAt, position, isOver ? at : dueAt, at, isSlow];
    return (await this.sql.rows<WebhookEntity>(this.advanceText, parameters))[0];
  }

  /** Returns the number of webhooks with events to deliver, and the age of the oldest of these events in seconds. */
  async waiting(): Promise<number[]> {
    const rows = await this.sql.rows<{ count: number; seconds: number }>(WAITING, []);
    return rows.flatMap(({ count, seconds }) => [count, seconds]);
  }

  private within(transaction: EntityManager): Repository<WebhookEntity> {
    return transaction.withRepository(this.entities);
  }
}
