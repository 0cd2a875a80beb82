import { Injectable } from '@nestjs/common';
import { listName } from '../http/links';
import { cutPage, decodeCursor, type Page } from '../http/page';
import type { ListOrdersQuery, Order } from './store-orders.dto';
import { StoreOrdersRepository } from './store-orders.repository';

/** Path of the orders below the base URL. */
export const STORE_ORDERS_PATH = '/store/orders';

@Injectable()
export class StoreOrdersService {
  constructor(private readonly orders: StoreOrdersRepository) {}

  /**
   * A page of one account's orders. A cursor carries no account: one made for another account is only a position
   * among the orders of this one.
   *
   * @throws ApiError `invalid_cursor`
   */
  async list(accountId: bigint, query: ListOrdersQuery): Promise<Page<Order>> {
    const after = decodeCursor(listName(STORE_ORDERS_PATH, query), query.cursor);
    const { limit, status } = query;
    return cutPage(await this.orders.list({ accountId, status }, after, limit + 1), limit);
  }
}
