import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MIN_INT64 } from '../platform/http/int64';
import { Sql } from '../platform/database/sql';
import type { Statement } from '../platform/database/statement';
import type { OrderStatus } from './order-status';
import type { Order } from './store-orders.dto';

const COLUMNS = 'id, pet_id, status, placed_at';

const read = ([id, petId, status, placedAt]: [bigint, bigint, OrderStatus, Date]): Order => ({
  id,
  petId,
  status,
  placedAt: placedAt.toISOString(),
});

/**
 * A row comparison on (account_id, id), so that only the index on both columns gives the order. With
 * `account_id = $3 … ORDER BY id` the planner may scan the primary key, past every order of other accounts.
 */
export const LIST_ORDERS: Statement = {
  name: 'store_orders_list',
  read,
  isPipelined: true,
  text: `
    SELECT ${COLUMNS} FROM store_orders
    WHERE (account_id, id) > ($3, $1) AND account_id <= $3
    ORDER BY account_id, id LIMIT $2`,
};

/**
 * Only the index on (account_id, status, id) gives this order. The account is compared by `=`, outside the row
 * comparison. Inside it, the planner overestimates the rows, and a generic plan sorts all orders of the account.
 */
export const LIST_ORDERS_BY_STATUS: Statement = {
  name: 'store_orders_list_by_status',
  read,
  isPipelined: true,
  text: `
    SELECT ${COLUMNS} FROM store_orders
    WHERE account_id = $3 AND (status, id) > ($4, $1) AND status <= $4
    ORDER BY status, id LIMIT $2`,
};

const FIND: Statement = {
  name: 'store_orders_find',
  read,
  isPipelined: true,
  text: `SELECT ${COLUMNS} FROM store_orders WHERE id = $1 AND account_id = $2`,
};

const LOCK: Statement = { name: 'store_orders_lock', read, text: `${FIND.text} FOR UPDATE` };

/** Inserts nothing if the animal has an open order. The unique index decides, not the status of the animal. */
const INSERT: Statement = {
  name: 'store_orders_insert',
  read,
  text: `
    INSERT INTO store_orders (account_id, pet_id, status, placed_at) VALUES ($1, $2, 'placed', $3)
    ON CONFLICT (pet_id) WHERE status IN ('placed', 'approved') DO NOTHING
    RETURNING ${COLUMNS}`,
};

const CHANGE_STATUS: Statement = {
  name: 'store_orders_change_status',
  read,
  text: `
    UPDATE store_orders SET status = $3 WHERE id = $1 AND account_id = $2 AND status = ANY($4::text[])
    RETURNING ${COLUMNS}`,
};

/** An order id and the account of the caller, which can access only its own orders. */
export interface OrderKey {
  readonly id: bigint;
  readonly accountId: bigint;
}

/** The orders that a list contains. */
export interface OrderFilter {
  readonly accountId: bigint;
  /** Undefined: all statuses. */
  readonly status: OrderStatus | undefined;
}

/** The statements about orders. */
@Injectable()
export class StoreOrdersRepository {
  constructor(private readonly sql: Sql) {}

  /**
   * Lists at most `count` orders of one account after the id `after`, by ascending id. The cost grows neither with the
   * depth nor with the orders of other accounts.
   */
  list({ accountId, status }: OrderFilter, after: bigint | undefined, count: number): Promise<Order[]> {
    const page = [after ?? MIN_INT64, count, accountId];
    return status === undefined
      ? this.sql.rows<Order>(LIST_ORDERS, page)
      : this.sql.rows<Order>(LIST_ORDERS_BY_STATUS, [...page, status]);
  }

  async find({ id, accountId }: OrderKey, transaction?: EntityManager): Promise<Order | undefined> {
    const [order] = await this.sql.rows<Order>(FIND, [id, accountId], transaction);
    return order;
  }

  /** Locks the row until the transaction ends, and returns it. */
  async lock({ id, accountId }: OrderKey, transaction: EntityManager): Promise<Order | undefined> {
    const [order] = await this.sql.rows<Order>(LOCK, [id, accountId], transaction);
    return order;
  }

  /** @returns undefined if any account has an open order of the animal */
  async insert(
    accountId: bigint,
    petId: bigint,
    placedAt: Date,
    transaction: EntityManager,
  ): Promise<Order | undefined> {
    const [order] = await this.sql.rows<Order>(INSERT, [accountId, petId, placedAt], transaction);
    return order;
  }

  /** Changes the status if it is one of `from`. @returns undefined if it is not, or the order does not exist */
  async changeStatus(
    { id, accountId }: OrderKey,
    to: OrderStatus,
    from: readonly OrderStatus[],
    transaction: EntityManager,
  ): Promise<Order | undefined> {
    const [order] = await this.sql.rows<Order>(CHANGE_STATUS, [id, accountId, to, from], transaction);
    return order;
  }
}
