import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, type FindOptionsWhere, Repository } from 'typeorm';
import { EVENT_TYPES, NEWEST } from '../events';
import { pages } from '../platform/database/pages';
import { Sql } from '../platform/database/sql';
import { WebhookEntity } from './webhook.entity';
import { MAX_WEBHOOKS } from './webhooks.errors';

/** The columns that clients see. */
export type ShownColumns = Pick<
  WebhookEntity,
  | 'attempts'
  | 'createdAt'
  | 'disabledAt'
  | 'id'
  | 'lastDeliveryAt'
  | 'lastError'
  | 'types'
  | 'updatedAt'
  | 'url'
>;

/** The list of an account's webhooks. */
export const webhookPages = pages<ShownColumns>(
  {
    table: 'webhooks',
    columns:
      'id, url, types, created_at AS "createdAt", updated_at AS "updatedAt", attempts, disabled_at AS "disabledAt", last_delivery_at AS "lastDeliveryAt", last_error AS "lastError"',
  },
  { always: ['account_id'] },
);

/** Concurrent creations of an account wait for each other. Orders, which refer to the row too, do not wait. */
const LOCK_ACCOUNT = 'SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE';

/** The row comparisons and the order need the index on these columns. With EXISTS a rare type would scan the table. */
const event = (columns: string, values: string, condition = 'true') => `
  (
    SELECT true FROM events
    WHERE (${columns}, events.id) > (${values}, greatest(position, (SELECT removed_to FROM newest)))
      AND (${columns}, events.id) <= (${values}, (SELECT id FROM newest)) AND ${condition}
    ORDER BY ${columns}, events.id LIMIT 1
  )`;

/**
 * Leases webhooks that are due and have an event to deliver, at most as many healthy and failing ones as given. Those of
 * disabled accounts wait.
 */
const CLAIM = `
  WITH newest AS MATERIALIZED (
    SELECT ${NEWEST} AS id, removed_to FROM event_log
  )
  UPDATE webhooks SET due_at = $2
  FROM (VALUES (false, $3::int), (true, $4::int)) AS kind (is_failing, count), LATERAL (
    SELECT id FROM webhooks
    WHERE webhooks.disabled_at IS NULL AND due_at <= $1 AND (attempts > 0) = is_failing
      AND position < (SELECT id FROM newest)
      AND account_id IN (SELECT id FROM accounts WHERE accounts.disabled_at IS NULL)
      AND EXISTS (
        SELECT FROM unnest(coalesce(types, $5::text[])) AS wanted (type)
        WHERE wanted.type LIKE 'pet.%' AND ${event('events.type', 'wanted.type')}
          OR wanted.type LIKE 'order.%' AND ${event('events.account_id, events.type', 'webhooks.account_id, wanted.type', 'events.account_id IS NOT NULL')}
      )
    ORDER BY due_at LIMIT kind.count FOR UPDATE SKIP LOCKED
  ) AS due
  WHERE webhooks.id = due.id RETURNING webhooks.id, is_failing AS "isFailing"`;

/** The values of a webhook to write. */
export type WebhookValues = Partial<Omit<WebhookEntity, 'account' | 'id'>>;

@Injectable()
export class WebhooksRepository {
  constructor(
    private readonly sql: Sql,
    @InjectRepository(WebhookEntity) private readonly entities: Repository<WebhookEntity>,
  ) {}

  /** Inserts a webhook whose first event is the next one. @returns undefined if the account has too many */
  async insert(values: WebhookValues & Pick<WebhookEntity, 'accountId'>, transaction: EntityManager) {
    const { accountId } = values;
    await this.sql.rows(LOCK_ACCOUNT, [accountId], transaction);
    const webhooks = this.within(transaction);
    if ((await webhooks.countBy({ accountId })) >= MAX_WEBHOOKS) return undefined;
    // Not the least id that may follow: in another cluster lower ones may follow (decision 35).
    const { identifiers } = await webhooks.insert({ ...values, position: () => `coalesce(${NEWEST}, 0)` });
    return this.find({ id: identifiers[0]?.['id'] }, transaction);
  }

  /** Finds a webhook. @param transaction locks the row until it ends */
  find(where: FindOptionsWhere<WebhookEntity>, transaction?: EntityManager): Promise<WebhookEntity | null> {
    const lock = transaction ? { lock: { mode: 'pessimistic_write' } as const } : {};
    return this.within(transaction).findOne({ where, ...lock });
  }

  /** Changes a webhook. @returns false if another lease has begun since it was read, or it was deleted */
  async update(
    { id, dueAt }: WebhookEntity,
    values: WebhookValues,
    transaction?: EntityManager,
  ): Promise<boolean> {
    return (await this.within(transaction).update({ id, dueAt }, values)).affected === 1;
  }

  async delete({ id }: WebhookEntity, transaction: EntityManager): Promise<void> {
    await this.within(transaction).delete({ id });
  }

  /** Leases webhooks with an event to deliver. */
  claim(now: Date, lease: Date, counts: { readonly healthy: number; readonly failing: number }) {
    const parameters = [now, lease, counts.healthy, counts.failing, EVENT_TYPES];
    return this.sql.rows<{ id: bigint; isFailing: boolean }>(CLAIM, parameters);
  }

  private within(transaction: EntityManager | undefined): Repository<WebhookEntity> {
    return transaction ? transaction.withRepository(this.entities) : this.entities;
  }
}
