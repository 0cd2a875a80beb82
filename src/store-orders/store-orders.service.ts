import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AccountsService, insufficientScope, type Principal } from '../auth';
import { CONFIG, type ConfigOf } from '../config/config';
import * as parsers from '../config/parsers';
import { Clock } from '../time/clock';
import { HOUR_MS } from '../time/time';
import { Sql } from '../database/sql';
import type { Page } from '../api/lists/page';
import type { Precondition } from '../api/entity-tags/entity-tag';
import { petErrors, PetHolds, PetsService } from '../pets';
import { OrderHooks } from './order-hooks';
import { type OrderStatus, type Transition, TRANSITIONS } from './order-status';
import type { ListOrdersQuery, NewOrder, Order } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import { orderScopes } from './store-orders.scopes';
import { orderPages, type StoredOrder, StoreOrdersRepository } from './store-orders.repository';

export const orderSettings = {
  orderExpiresAfterHours: {
    variable: 'ORDER_EXPIRES_AFTER_HOURS',
    defaultText: '168',
    parse: parsers.integer(0, 87_600),
    meaning:
      'Hours after which an order that is still `placed` is cancelled; `0`: never. Orders that have an expiry keep it when this changes, but for `0`.',
  },
  ordersMaxOpenPerAccount: {
    variable: 'ORDERS_MAX_OPEN_PER_ACCOUNT',
    defaultText: '1000',
    parse: parsers.integer(0, 1_000_000),
    meaning: 'Maximum number of open orders (`placed` or `approved`) of an account. `0` means no limit.',
  },
} as const;

export type OrderConfig = ConfigOf<typeof orderSettings>;

@Injectable()
export class StoreOrdersService {
  /** @internal */
  constructor(
    private readonly sql: Sql,
    private readonly orders: StoreOrdersRepository,
    private readonly pets: PetsService,
    private readonly accounts: AccountsService,
    private readonly holds: PetHolds,
    private readonly hooks: OrderHooks,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: OrderConfig,
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
   * Lists a page of the orders of `?account=`; without it of the caller's account. A cursor does not contain the
   * caller's account: a cursor of another account is only a position among this account's orders.
   *
   * @throws ApiError `invalid_cursor`
   */
  async list(principal: Principal, query: ListOrdersQuery): Promise<Page<Order>> {
    const accountId = await this.accounts.idOfListed(principal.accountId, query.account);
    const page = await orderPages.list(this.sql, query, { accountId });
    return page.with(await this.show(principal, page.items));
  }

  /** @throws ApiError `order_not_found` */
  async get(principal: Principal, id: bigint): Promise<Order> {
    const stored = await this.find(id, principal);
    const [order = stored] = await this.show(principal, [stored]);
    return order;
  }

  /**
   * Places an order and reserves its animal in one transaction. Of concurrent orders of one animal exactly one succeeds.
   * The order has no `account`, which staff sees elsewhere: any key of the account may repeat the request.
   *
   * @throws ApiError `pet_not_found`, `pet_not_available`, `too_many_open_orders`; the error of a hold
   */
  place({ accountId }: Principal, { petId }: NewOrder, outer?: EntityManager): Promise<Order> {
    return this.sql.transaction(async (transaction) => {
      await this.pets.changeStatus(petId, TRANSITIONS.placed.petStatus, transaction);
      await this.holds.requireNone('placeOrder', petId, transaction);
      const placedAt = new Date(this.clock.now());
      const times = [placedAt, expiryOf(this.config, placedAt)] as const;
      const maxOpen = this.config.ordersMaxOpenPerAccount;
      const placed = await this.orders.insert(accountId, petId, times, maxOpen, transaction);
      if (!placed) {
        const isTaken = await this.orders.hasOpenOrder(petId, transaction);
        throw isTaken ? petErrors.pet_not_available() : orderErrors.too_many_open_orders();
      }
      await this.hooks.run({ order: placed, accountId, previous: undefined }, transaction);
      return placed;
    }, outer);
  }

  /**
   * Changes the status of an order, and of its animal, in one transaction. An order that has the status stays as it is.
   *
   * @throws ApiError `order_not_found`, `precondition_failed`, `invalid_transition`, `insufficient_scope`
   */
  async update(
    principal: Principal,
    id: bigint,
    status: OrderStatus,
    precondition: Precondition<Order>,
  ): Promise<Order> {
    const { from, isOfStaff }: Transition = TRANSITIONS[status];
    if (isOfStaff && !isStaff(principal)) throw insufficientScope(orderScopes.manage);
    // The account of an order never changes. Read before the transaction, it occupies no second connection.
    const { account } = isStaff(principal) ? await this.get(principal, id) : {};
    const view = (order: StoredOrder): Order => (account === undefined ? order : { ...order, account });
    return this.sql.transaction(async (transaction) => {
      const previous = await this.find(id, principal, transaction);
      if (previous.status === status) return view(previous);
      // placeOrder responds with an order without `account`, and its tag is for that form.
      precondition(view(previous), previous);
      if (!from.includes(previous.status)) {
        const message = `An order that is ${previous.status} cannot become ${status}.`;
        throw orderErrors.invalid_transition({ message });
      }
      return view(await this.move(previous, status, transaction));
    });
  }

  /**
   * Changes the status of an order that the transaction has locked, and of its animal.
   *
   * @throws ApiError `pet_not_available`
   * @internal
   */
  async move(previous: StoredOrder, status: OrderStatus, transaction: EntityManager): Promise<StoredOrder> {
    const updatedAt = new Date(this.clock.now()).toISOString();
    const order = { ...previous, status, updatedAt, expiresAt: null };
    await this.orders.updateStatus(order, transaction);
    const { petStatus } = TRANSITIONS[status];
    if (petStatus) await this.pets.changeStatus(order.petId, petStatus, transaction);
    await this.hooks.run({ order, accountId: order.accountId, previous: previous.status }, transaction);
    return order;
  }

  /** Finds an order that the key accesses; a transaction locks it. @throws ApiError `order_not_found` */
  private async find(id: bigint, principal: Principal, transaction?: EntityManager): Promise<StoredOrder> {
    const accountId = isStaff(principal) ? null : principal.accountId;
    const order = await this.orders.find(id, accountId, transaction);
    if (!order) throw orderErrors.order_not_found();
    return order;
  }

  /** Returns orders as the key sees them: staff sees the names of their accounts. */
  private async show(principal: Principal, orders: readonly StoredOrder[]): Promise<readonly Order[]> {
    if (!isStaff(principal)) return orders;
    const names = await this.accounts.namesOf(orders.map(({ accountId }) => accountId));
    return orders.map((order) => ({ ...order, account: names.get(order.accountId) ?? '' }));
  }
}

/** Returns when an order of this time expires; null: never. */
export function expiryOf({ orderExpiresAfterHours }: OrderConfig, placedAt: Date): Date | null {
  return orderExpiresAfterHours > 0 ? new Date(placedAt.getTime() + orderExpiresAfterHours * HOUR_MS) : null;
}

/** True for a key of the store's staff: it accesses the orders of every account and sees whose they are. */
function isStaff({ scopes }: Principal): boolean {
  return scopes.includes(orderScopes.manage);
}
