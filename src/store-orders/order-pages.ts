import { type ListedTable, type PageStatements, pageStatements } from '../platform/database/page-statements';
import type { OrderStatus } from './order-status';
import type { StoreOrderEntity } from './store-order.entity';
import type { Order } from './store-orders.dto';

/** An order with the account that placed it. */
export interface StoredOrder extends Order {
  readonly accountId: bigint;
}

export const ORDER_COLUMNS = 'id, account_id, pet_id, status, placed_at, updated_at';

export const readOrder = ([id, accountId, petId, status, placedAt, updatedAt]: [
  bigint,
  bigint,
  bigint,
  OrderStatus,
  Date,
  Date,
]): StoredOrder => storedOrderOf({ id, accountId, petId, status, placedAt, updatedAt });

export function storedOrderOf({ placedAt, updatedAt, ...order }: StoreOrderEntity): StoredOrder {
  return { ...order, placedAt: placedAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

const ORDERS: ListedTable = { table: 'store_orders', columns: ORDER_COLUMNS, read: readOrder };

const ALL = pageStatements(ORDERS, []);
const BY_STATUS = pageStatements(ORDERS, ['status']);
const BY_ACCOUNT = pageStatements(ORDERS, ['account_id']);
const BY_ACCOUNT_AND_STATUS = pageStatements(ORDERS, ['account_id', 'status']);

/** The orders of a list. */
export interface OrderFilter {
  /** Undefined: of all accounts. */
  readonly accountId: bigint | undefined;
  /** Undefined: all statuses. */
  readonly status: OrderStatus | undefined;
}

/** Returns the statements for the pages of a list, and the parameters after the first id and the number of rows. */
export function orderPages({ accountId, status }: OrderFilter): [PageStatements, unknown[]] {
  if (accountId === undefined) return status === undefined ? [ALL, []] : [BY_STATUS, [status]];
  return status === undefined ? [BY_ACCOUNT, [accountId]] : [BY_ACCOUNT_AND_STATUS, [accountId, status]];
}
