import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../platform/runtime/clock';
import { Sql } from '../platform/database/sql';
import type { Page } from '../platform/paging/page';
import type { Precondition } from '../platform/entity-tags/entity-tag';
import { petErrors, PetHolds, PetsService } from '../pets';
import { OrderEvents } from './order-events';
import { ORDER_TRANSITIONS, type OrderStatus, PET_STATUS_AFTER } from './order-status';
import type { ListOrdersQuery, NewOrder } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import { type OrderKey, type StoredOrder, StoreOrdersRepository } from './store-orders.repository';

@Injectable()
export class StoreOrdersService {
  /** @internal */
  constructor(
    private readonly sql: Sql,
    private readonly orders: StoreOrdersRepository,
    private readonly pets: PetsService,
    private readonly holds: PetHolds,
    private readonly events: OrderEvents,
    private readonly clock: Clock,
  ) {}

  /** @internal */
  onModuleInit(): void {
    this.holds.add({
      forbids: 'change',
      error: petErrors.pet_has_open_order,
      isHeld: (petId, transaction) => this.orders.hasOpenOrder(petId, transaction),
    });
  }

  /**
   * Lists a page of an account's orders. A cursor does not contain the caller's account: a cursor of another account is
   * only a position among this account's orders.
   *
   * @param accountId undefined: the orders of all accounts
   * @throws ApiError `invalid_cursor`
   */
  list(accountId: bigint | undefined, query: ListOrdersQuery): Promise<Page<StoredOrder>> {
    return this.orders.list(accountId, query);
  }

  /** @throws ApiError `order_not_found` */
  async get(order: OrderKey): Promise<StoredOrder> {
    const found = await this.orders.find(order);
    if (!found) throw orderErrors.order_not_found();
    return found;
  }

  /**
   * Places an order and reserves its animal in one transaction. Of concurrent orders of one animal exactly one succeeds.
   *
   * @throws ApiError `pet_not_found`, `pet_not_available`
   */
  place(accountId: bigint, { petId }: NewOrder, outer?: EntityManager): Promise<StoredOrder> {
    return this.sql.transaction(async (transaction) => {
      await this.pets.changeStatus(petId, PET_STATUS_AFTER.placed, transaction);
      const placedAt = new Date(this.clock.now());
      const placed = await this.orders.insert(accountId, petId, placedAt, transaction);
      if (!placed) throw petErrors.pet_not_available();
      await this.events.run({ order: placed, accountId, previous: undefined }, transaction);
      return placed;
    }, outer);
  }

  /**
   * Changes the status of an order, and of its animal, in one transaction. An order that has the status stays as it is.
   *
   * @throws ApiError `order_not_found`, `precondition_failed`, `invalid_transition`
   */
  update(
    key: OrderKey,
    status: OrderStatus,
    precondition: Precondition<StoredOrder> = () => undefined,
  ): Promise<StoredOrder> {
    return this.sql.transaction(async (transaction) => {
      const previous = await this.orders.find(key, transaction);
      if (!previous) throw orderErrors.order_not_found();
      precondition(previous);
      if (previous.status === status) return previous;
      if (!ORDER_TRANSITIONS[status].includes(previous.status)) {
        const message = `An order that is ${previous.status} cannot become ${status}.`;
        throw orderErrors.invalid_transition({ message });
      }
      const order = { ...previous, status, updatedAt: new Date(this.clock.now()).toISOString() };
      await this.orders.updateStatus(order, transaction);
      const petStatus = PET_STATUS_AFTER[status];
      if (petStatus) await this.pets.changeStatus(order.petId, petStatus, transaction);
      const { accountId } = order;
      await this.events.run({ order, accountId, previous: previous.status }, transaction);
      return order;
    });
  }
}
