import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../platform/runtime/clock';
import { Sql } from '../platform/database/sql';
import { listName } from '../platform/http/links';
import { cutPage, decodeCursor, type Page } from '../platform/http/page';
import { petErrors, PetsService } from '../pets';
import { OrderEvents } from './order-events';
import { ORDER_TRANSITIONS, type OrderStatus, PET_STATUS_AFTER } from './order-status';
import type { ListOrdersQuery, NewOrder, Order } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import { type OrderKey, StoreOrdersRepository } from './store-orders.repository';

/** Path of the list of orders, relative to the base URL. */
export const STORE_ORDERS_PATH = '/store/orders';

@Injectable()
export class StoreOrdersService {
  constructor(
    private readonly sql: Sql,
    private readonly orders: StoreOrdersRepository,
    private readonly pets: PetsService,
    private readonly events: OrderEvents,
    private readonly clock: Clock,
  ) {}

  /**
   * Lists a page of an account's orders. A cursor does not contain an account: a cursor of another account is only a
   * position among this account's orders.
   *
   * @throws ApiError `invalid_cursor`
   */
  async list(accountId: bigint, query: ListOrdersQuery): Promise<Page<Order>> {
    const after = decodeCursor(listName(STORE_ORDERS_PATH, query), query.cursor);
    const { limit, status } = query;
    return cutPage(await this.orders.list({ accountId, status }, after, limit + 1), limit);
  }

  /** @throws ApiError `order_not_found` */
  async get(order: OrderKey, transaction?: EntityManager): Promise<Order> {
    const found = await this.orders.find(order, transaction);
    if (!found) throw orderErrors.order_not_found();
    return found;
  }

  /**
   * Places an order and reserves its animal in one transaction. Of concurrent orders of one animal exactly one succeeds.
   *
   * @throws ApiError `pet_not_found`, `pet_not_available`
   */
  place(accountId: bigint, { petId }: NewOrder, outer?: EntityManager): Promise<Order> {
    return this.sql.transaction(async (transaction) => {
      await this.changePetStatus(petId, 'placed', transaction);
      const placed = await this.orders.insert(accountId, petId, new Date(this.clock.now()), transaction);
      if (!placed) throw petErrors.pet_not_available();
      await this.events.run({ order: placed, accountId, previous: undefined }, transaction);
      return placed;
    }, outer);
  }

  /**
   * Changes the status of an order, and of its animal, in one transaction.
   *
   * @throws ApiError `order_not_found`, `invalid_transition`
   */
  update(key: OrderKey, status: OrderStatus): Promise<Order> {
    return this.sql.transaction(async (transaction) => {
      const previous = this.events.isEmpty ? undefined : await this.orders.lock(key, transaction);
      const order = await this.orders.changeStatus(key, status, ORDER_TRANSITIONS[status], transaction);
      if (!order) throw await this.rejectionOf(key, status, transaction);
      await this.changePetStatus(order.petId, status, transaction);
      const { accountId } = key;
      if (previous) await this.events.run({ order, accountId, previous: previous.status }, transaction);
      return order;
    });
  }

  private async changePetStatus(
    petId: bigint,
    status: OrderStatus,
    transaction: EntityManager,
  ): Promise<void> {
    const petStatus = PET_STATUS_AFTER[status];
    if (petStatus) await this.pets.changeStatus(petId, petStatus, transaction);
  }

  private async rejectionOf(order: OrderKey, to: OrderStatus, transaction: EntityManager) {
    const found = await this.orders.find(order, transaction);
    if (!found) return orderErrors.order_not_found();
    const message = `An order that is ${found.status} cannot become ${to}.`;
    return orderErrors.invalid_transition({ message });
  }
}
