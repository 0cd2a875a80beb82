import { Injectable } from '@nestjs/common';
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
}
