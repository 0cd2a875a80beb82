import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Sql, type Statement } from '../database/sql';
import { pages } from '../api/lists/lists';
import { ORDER_STATUSES, type OrderStatus } from './order-status';
import type { Order } from './store-orders.dto';

export interface StoredOrder extends Order {
  readonly accountId: bigint;
}

const COLUMNS = 'id, account_id, pet_id, status, placed_at, updated_at, expires_at';

type Columns = [bigint, bigint, bigint, OrderStatus, Date, Date, Date | null];

const read = ([id, accountId, petId, status, placedAt, updatedAt, expiresAt]: Columns): StoredOrder => ({
  id,
  accountId,
  petId,
  status,
  placedAt: placedAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
  // An instance of an earlier version leaves it when it approves the order.
  expiresAt: (status === 'placed' && expiresAt?.toISOString()) || null,
});

export const orderPages = pages(
  { table: 'store_orders', columns: COLUMNS, read },
  {
    filters: { accountId: 'account_id', status: 'status' },
    rare: { petId: 'pet_id' },
    values: { status: ORDER_STATUSES },
  },
);

/** Of the account $2; null: of any account. */
const OF_ACCOUNT = `SELECT ${COLUMNS} FROM store_orders WHERE id = $1 AND ($2::bigint IS NULL OR account_id = $2)`;
const FIND: Statement = { read, text: OF_ACCOUNT };
const LOCK: Statement = { read, text: `${OF_ACCOUNT} FOR UPDATE` };

/** As the unique index of the animals says it. */
const IS_OPEN = `status IN ('placed', 'approved')`;

const HAS_OPEN = `SELECT FROM store_orders WHERE pet_id = $1 AND ${IS_OPEN}`;

const UPDATE_STATUS = 'UPDATE store_orders SET status = $2, updated_at = $3, expires_at = NULL WHERE id = $1';

/**
 * Inserts nothing if the animal has an open order, or the account $5 of them; null: any number. For the animal the unique
 * index decides, not its status. Of an account the open orders are a range of an index, read to $5 at most.
 */
export const INSERT: Statement = {
  read,
  text: `
    INSERT INTO store_orders (account_id, pet_id, status, placed_at, updated_at, expires_at)
    SELECT $1::bigint, $2::bigint, 'placed', $3::timestamptz, $3::timestamptz, $4::timestamptz
    WHERE $5::int IS NULL OR $5 > (SELECT count(*) FROM (
      SELECT FROM store_orders WHERE account_id = $1 AND ${IS_OPEN} LIMIT $5
    ) AS open)
    ON CONFLICT (pet_id) WHERE ${IS_OPEN} DO NOTHING
    RETURNING ${COLUMNS}`,
};

/** Other orders of the account that is at its bound wait. The reference to it does not. */
const LOCK_ACCOUNT = 'SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE';

/** An account places fewer orders concurrently: a server has as many connections by default. */
const MAX_CONCURRENT = 100;

/** The most orders that a transaction changes without a request. */
export const MAX_AT_ONCE = 100;

/** Skips the orders that a buyer, staff or another instance changes now. A clock that is ahead cancels none too early. */
const LOCK_EXPIRED: Statement = {
  read,
  text: `
    SELECT ${COLUMNS} FROM store_orders
    WHERE status = 'placed' AND expires_at <= least($1, now()) AND id <> ALL($2::bigint[])
    ORDER BY expires_at LIMIT ${MAX_AT_ONCE} FOR UPDATE SKIP LOCKED`,
};

/** Gives the placed orders an expiry that have none, or takes it from those that have one. */
const setExpiry = (found: 'NULL' | 'NOT NULL') => `
  UPDATE store_orders SET expires_at = $1, updated_at = $2 WHERE id IN (
    SELECT id FROM store_orders WHERE status = 'placed' AND expires_at IS ${found}
    LIMIT ${MAX_AT_ONCE} FOR UPDATE SKIP LOCKED
  ) RETURNING true`;

@Injectable()
export class StoreOrdersRepository {
  constructor(private readonly sql: Sql) {}

  /**
   * @param accountId null: of any account
   * @param transaction locks the row until it ends
   */
  async find(id: bigint, accountId: bigint | null, transaction?: EntityManager) {
    const statement = transaction ? LOCK : FIND;
    return (await this.sql.rows<StoredOrder>(statement, [id, accountId], transaction))[0];
  }

  /**
   * @param maxOpen the most open orders of the account; 0: any number
   * @returns undefined if any account has an open order of the animal, or this one too many
   */
  async insert(
    accountId: bigint,
    petId: bigint,
    times: readonly [placedAt: Date, expiresAt: Date | null],
    maxOpen: number,
    transaction: EntityManager,
  ): Promise<StoredOrder | undefined> {
    const insert = async (bound: number | null) =>
      (await this.sql.rows<StoredOrder>(INSERT, [accountId, petId, ...times, bound], transaction))[0];
    if (maxOpen === 0) return insert(null);
    const order = maxOpen > MAX_CONCURRENT ? await insert(maxOpen - MAX_CONCURRENT) : undefined;
    if (order) return order;
    await this.sql.rows(LOCK_ACCOUNT, [accountId], transaction);
    return insert(maxOpen);
  }

  /** Locks orders whose time has passed until the transaction ends, the oldest first. @param others are left out */
  lockExpired(now: Date, others: readonly bigint[], transaction: EntityManager): Promise<StoredOrder[]> {
    return this.sql.rows<StoredOrder>(LOCK_EXPIRED, [now, others], transaction);
  }

  /** Sets the expiry of placed orders that have none; null removes it. @returns the number of changed orders */
  async setExpiry(expiresAt: Date | null, now: Date): Promise<number> {
    const statement = setExpiry(expiresAt ? 'NULL' : 'NOT NULL');
    return (await this.sql.rows(statement, [expiresAt, now])).length;
  }

  async updateStatus({ id, status, updatedAt }: StoredOrder, transaction: EntityManager): Promise<void> {
    await this.sql.rows(UPDATE_STATUS, [id, status, updatedAt], transaction);
  }

  async hasOpenOrder(petId: bigint, transaction: EntityManager): Promise<boolean> {
    return (await this.sql.rows(HAS_OPEN, [petId], transaction)).length > 0;
  }
}
