import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../clock';
import { Sql } from '../database/sql';
import { listName } from '../http/links';
import { cutPage, decodeCursor, type Page } from '../http/page';
import { petNotAvailable, PetsService } from '../pets';
import { ORDER_TRANSITIONS, type OrderStatus, PET_STATUS_AFTER } from './order-status';
import type { ListOrdersQuery, NewOrder, Order } from './store-orders.dto';
import { invalidTransition, orderNotFound } from './store-orders.errors';
import { type OrderOf, StoreOrdersRepository } from './store-orders.repository';

/** Path of the orders below the base URL. */
export const STORE_ORDERS_PATH = '/store/orders';

@Injectable()
export class StoreOrdersService {
  constructor(
    private readonly sql: Sql,
    private readonly orders: StoreOrdersRepository,
    private readonly pets: PetsService,
    private readonly clock: Clock,
  ) {}

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

  /** @throws ApiError `order_not_found` */
  async get(order: OrderOf): Promise<Order> {
    const found = await this.orders.find(order);
    if (!found) throw orderNotFound();
    return found;
  }

  /**
   * Orders an animal and reserves it, both or neither. Of any number of orders of one animal at once exactly one is
   * placed.
   *
   * @throws ApiError `pet_not_found`, `pet_not_available`
   */
  place(accountId: bigint, { petId }: NewOrder, transaction?: EntityManager): Promise<Order> {
    return this.sql.transaction(async (own) => {
      await this.moveAnimal(petId, 'placed', own);
      const placed = await this.orders.insert(accountId, petId, new Date(this.clock.now()), own);
      if (!placed) throw petNotAvailable();
      return placed;
    }, transaction);
  }

  /**
   * Moves an order, and its animal with it.
   *
   * @throws ApiError `order_not_found`, `invalid_transition`
   */
  update(order: OrderOf, status: OrderStatus): Promise<Order> {
    return this.sql.transaction(async (own) => {
      const moved = await this.orders.move(order, status, ORDER_TRANSITIONS[status], own);
      if (!moved) throw await this.whyNotMoved(order, status, own);
      await this.moveAnimal(moved.petId, status, own);
      return moved;
    });
  }

  private async moveAnimal(petId: bigint, status: OrderStatus, transaction: EntityManager): Promise<void> {
    const petStatus = PET_STATUS_AFTER[status];
    if (petStatus) await this.pets.move(petId, petStatus, transaction);
  }

  private async whyNotMoved(order: OrderOf, to: OrderStatus, transaction: EntityManager) {
    const found = await this.orders.find(order, transaction);
    return found ? invalidTransition(found.status, to) : orderNotFound();
  }
}
