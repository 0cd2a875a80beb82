import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MIN_INT64 } from '../http/int64';
import { type Statement, Sql } from '../database/sql';
import type { OrderStatus } from './order-status';
import { type Order, type OrderRow, toOrder } from './store-orders.dto';

const COLUMNS = 'id, pet_id AS "petId", status, placed_at AS "placedAt"';

/**
 * Begins behind (account_id, id) and ends with the account, so that only the index on both can give the order. With
 * `account_id = $3 … ORDER BY id` the planner may walk the primary key instead, past every order of other accounts.
 */
export const LIST: Statement = {
  name: 'store_orders_list',
  text: `
    SELECT ${COLUMNS} FROM store_orders
    WHERE (account_id, id) > ($3, $1) AND account_id <= $3
    ORDER BY account_id, id LIMIT $2`,
};

/**
 * Only the index on (account_id, status, id) gives this order. The account is compared alone, by `=`: taken into the
 * row comparisons, it hides from the planner how few rows they leave, and a generic plan then sorts the account's orders.
 */
export const LIST_BY_STATUS: Statement = {
  name: 'store_orders_list_by_status',
  text: `
    SELECT ${COLUMNS} FROM store_orders
    WHERE account_id = $3 AND (status, id) > ($4, $1) AND status <= $4
    ORDER BY status, id LIMIT $2`,
};

const FIND: Statement = {
  name: 'store_orders_find',
  text: `SELECT ${COLUMNS} FROM store_orders WHERE id = $1 AND account_id = $2`,
};

/** Inserts nothing where the animal has an open order: the index sees to it, whatever the animal's status says. */
const INSERT: Statement = {
  name: 'store_orders_insert',
  text: `
    INSERT INTO store_orders (account_id, pet_id, status, placed_at) VALUES ($1, $2, 'placed', $3)
    ON CONFLICT (pet_id) WHERE status IN ('placed', 'approved') DO NOTHING
    RETURNING ${COLUMNS}`,
};

const MOVE: Statement = {
  name: 'store_orders_move',
  text: `
    UPDATE store_orders SET status = $3 WHERE id = $1 AND account_id = $2 AND status = ANY($4::text[])
    RETURNING ${COLUMNS}`,
};

/** One order, and the account that asks for it: it sees its own alone. */
export interface OrderOf {
  readonly id: bigint;
  readonly accountId: bigint;
}

/** Which orders a page is cut from. */
export interface OrdersOf {
  readonly accountId: bigint;
  /** Undefined: of every status. */
  readonly status: OrderStatus | undefined;
}

/** The statements of orders, one for each operation. */
@Injectable()
export class StoreOrdersRepository {
  constructor(private readonly sql: Sql) {}

  /**
   * At most `count` orders of one account by ascending id, beginning behind `after`; neither the depth of the page nor
   * the orders of other accounts make a difference.
   */
  async list({ accountId, status }: OrdersOf, after: bigint | undefined, count: number): Promise<Order[]> {
    const page = [after ?? MIN_INT64, count, accountId];
    const rows = await (status === undefined
      ? this.sql.rows<OrderRow>(LIST, page)
      : this.sql.rows<OrderRow>(LIST_BY_STATUS, [...page, status]));
    return rows.map(toOrder);
  }

  /** An order of one account. */
  async find({ id, accountId }: OrderOf, transaction?: EntityManager): Promise<Order | undefined> {
    const [row] = await this.sql.rows<OrderRow>(FIND, [id, accountId], transaction);
    return row && toOrder(row);
  }

  /** @returns undefined where the animal has an open order, of whatever account */
  async insert(
    accountId: bigint,
    petId: bigint,
    placedAt: Date,
    transaction: EntityManager,
  ): Promise<Order | undefined> {
    const [row] = await this.sql.rows<OrderRow>(INSERT, [accountId, petId, placedAt], transaction);
    return row && toOrder(row);
  }

  /** Changes the status of an account's order where it is one of those named, and else returns undefined. */
  async move(
    { id, accountId }: OrderOf,
    to: OrderStatus,
    from: readonly OrderStatus[],
    transaction: EntityManager,
  ): Promise<Order | undefined> {
    const [row] = await this.sql.rows<OrderRow>(MOVE, [id, accountId, to, from], transaction);
    return row && toOrder(row);
  }
}
