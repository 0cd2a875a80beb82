import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Registry } from 'prom-client';
import { type EntityManager, type FindOptionsWhere, Repository } from 'typeorm';
import { nameOfEnabled } from '../auth';
import { NEWEST } from '../events';
import { pages } from '../api/lists/lists';
import { addScrapedGauge } from '../api/scraped-gauge';
import { Sql, type Statement } from '../database/sql';
import { HOUR_MS, MAX_CLOCK_DIFFERENCE_MS, SECOND_MS } from '../time/time';
import { MAX_WEBHOOKS, waitingSince, WebhookEntity } from './webhook.entity';

export type ShownColumns = Omit<
  WebhookEntity,
  'account' | 'failingSince' | 'isSlow' | 'position' | 'replacedSecrets' | 'secret'
>;

const SHOWN_COLUMNS =
  'id, account_id AS "accountId", url, types, created_at AS "createdAt", updated_at AS "updatedAt", attempts AS failures, disabled_at AS "disabledAt", due_at AS "dueAt", last_delivery_at AS "lastDeliveryAt", last_error AS "lastError"';

/** Those of a delivery, which needs no question for the time of the next event. */
const COLUMNS = `${SHOWN_COLUMNS}, secret, replaced_secrets AS "replacedSecrets", position, failing_since AS "failingSince", is_slow AS "isSlow", (${nameOfEnabled('webhooks')}) AS account`;

export const webhookPages = pages<ShownColumns>(
  {
    name: 'webhooks',
    table: `(SELECT *, ${waitingSince('webhooks')} AS waiting_since FROM webhooks) AS listed`,
    columns: `${SHOWN_COLUMNS}, waiting_since AS "waitingSince"`,
  },
  { filters: { accountId: 'account_id' } },
);

/** Concurrent creations of an account wait for each other. Orders, which refer to the row too, do not wait. */
const LOCK_ACCOUNT = 'SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE';

/** Webhooks that share places: those that failed last or whose receiver took long, and all others. */
const IS_HINDERED = '(attempts > 0 OR is_slow)';

const IS_ENABLED = `disabled_at IS NULL AND (${nameOfEnabled('webhooks')}) IS NOT NULL`;

/** The longest exchange, the waits for the database, and a difference between the clocks of instances. */
const LEASE_MS = 30 * SECOND_MS;
export const MAX_PAUSE_MS = 8 * HOUR_MS;

const after = (ms: number) => `$1::timestamptz + interval '${ms} ms'`;

/**
 * Leases webhooks that are due and have an event to deliver, longest since their last turn first. A time further ahead than
 * any lease or, after a failure, any pause was written by a wrong clock. If the newest event is known, only webhooks that
 * were due lately are read: no other can have got an event.
 *
 * Always one row or more, with the newest event: without a webhook `id` is null. Parameters: the time, the places of
 * webhooks that are not hindered and of those that are, and the known event.
 */
const LEASE = `
  WITH log AS MATERIALIZED (SELECT coalesce(${NEWEST}, 0) AS newest),
  due AS (
    UPDATE webhooks SET due_at = ${after(LEASE_MS)}
    FROM (VALUES (false, $2::int), (true, $3)) AS places (is_hindered, count),
      (VALUES
        ((SELECT CASE WHEN newest = $4 THEN ${after(-MAX_CLOCK_DIFFERENCE_MS)} ELSE '-infinity' END FROM log), $1),
        (${after(LEASE_MS + MAX_CLOCK_DIFFERENCE_MS)}, 'infinity')
      ) AS range (after, until),
      LATERAL (
        SELECT id AS due_id FROM webhooks
        WHERE ${IS_HINDERED} = places.is_hindered AND due_at > range.after AND due_at <= range.until
          AND (due_at <= $1 OR attempts = 0 OR due_at > ${after(MAX_PAUSE_MS + MAX_CLOCK_DIFFERENCE_MS)})
          AND ${IS_ENABLED} AND ${waitingSince('webhooks')} IS NOT NULL
        ORDER BY due_at LIMIT places.count FOR UPDATE SKIP LOCKED
      ) AS found
    WHERE id = due_id RETURNING ${COLUMNS}
  )
  SELECT due.*, newest FROM log LEFT JOIN due ON true`;

const FIND_LEASED: Statement = {
  isPipelined: true,
  text: `SELECT ${COLUMNS} FROM webhooks WHERE id = $1 AND due_at = $2`,
};

const OLDEST_EVENT = `
  SELECT coalesce(extract(epoch FROM now() - min(${waitingSince('webhooks')})), 0)::float8 AS seconds
  FROM webhooks WHERE ${IS_ENABLED}`;

export type WebhookValues = Partial<Omit<WebhookEntity, 'account' | 'id'>>;

@Injectable()
export class WebhooksRepository {
  constructor(
    private readonly sql: Sql,
    @InjectRepository(WebhookEntity) private readonly entities: Repository<WebhookEntity>,
    registry: Registry,
  ) {
    const help = 'Age of the oldest undelivered event of a webhook that is not disabled.';
    addScrapedGauge(registry, sql, 'animal_store_webhook_oldest_event_seconds', help, OLDEST_EVENT);
  }

  /** Inserts a webhook whose first event is the next one. @returns undefined if the account has too many */
  async insert(values: WebhookValues & Pick<WebhookEntity, 'accountId'>, transaction: EntityManager) {
    const { accountId } = values;
    await this.sql.rows(LOCK_ACCOUNT, [accountId], transaction);
    if ((await transaction.countBy(WebhookEntity, { accountId })) >= MAX_WEBHOOKS) return undefined;
    // Not the least id that may follow: in another cluster lower ones may follow (decision 35).
    const { identifiers } = await transaction.insert(WebhookEntity, {
      ...values,
      position: () => `coalesce(${NEWEST}, 0)`,
    });
    return transaction.findOneBy(WebhookEntity, { id: identifiers[0]?.['id'] });
  }

  find(where: FindOptionsWhere<WebhookEntity>): Promise<WebhookEntity | null> {
    return this.entities.findOneBy(where);
  }

  /** Locks the row until the transaction ends. */
  lock(where: FindOptionsWhere<WebhookEntity>, transaction: EntityManager): Promise<WebhookEntity | null> {
    return transaction.findOne(WebhookEntity, { where, lock: { mode: 'pessimistic_write' } });
  }

  /** Changes a webhook that the transaction has locked. @returns it as it is then */
  async update({ id }: WebhookEntity, values: WebhookValues, transaction: EntityManager) {
    await transaction.update(WebhookEntity, { id }, values);
    return transaction.findOneByOrFail(WebhookEntity, { id });
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
    await transaction.delete(WebhookEntity, { id });
  }

  /**
   * @param places for webhooks that are not hindered, and for those that are
   * @param known the newest event for which all were looked at
   */
  async lease(now: Date, places: readonly number[], known: bigint | undefined) {
    type Found = WebhookEntity & { newest: bigint };
    const rows = await this.sql.rows<Found>(LEASE, [now, ...places, known]);
    return { webhooks: rows.filter(({ id }) => id !== null), newest: rows[0]?.newest };
  }

  /** Returns a leased webhook as it is now; undefined if another lease has begun, or it was deleted. */
  async findLeased({ id, dueAt }: WebhookEntity): Promise<WebhookEntity | undefined> {
    return (await this.sql.rows<WebhookEntity>(FIND_LEASED, [id, dueAt]))[0];
  }
}
