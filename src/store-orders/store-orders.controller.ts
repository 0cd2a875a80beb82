import { Body, Controller, Get, Patch, Post, Query, UseGuards } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CurrentPrincipal, type Principal } from '../auth';
import { Operation } from '../platform/api-docs/operation.decorator';
import { IfMatch, type Precondition } from '../platform/entity-tags/entity-tag';
import { Transaction } from '../platform/idempotency';
import { PathId } from '../platform/validation/int64';
import { petErrors } from '../pets';
import { AccountParameterGuard, isStaff, OrderAccounts, requireMaySet } from './order-staff';
import { ListOrdersQuery, NewOrder, Order, OrderUpdate } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import type { OrderKey, StoredOrder } from './store-orders.repository';
import { orderScopes } from './store-orders.scopes';
import { StoreOrdersService } from './store-orders.service';

const OrderId = () => PathId('orderId', 'Identifier of the order.', orderErrors.order_not_found);

@Controller('/store/orders')
export class StoreOrdersController {
  constructor(
    private readonly orders: StoreOrdersService,
    private readonly accounts: OrderAccounts,
  ) {}

  @Get()
  @UseGuards(AccountParameterGuard)
  @Operation({
    id: 'listOrders',
    isSpecified: true,
    summary: 'List orders',
    description:
      "Lists the orders of the key's account in pages. With the scope `orders:manage` a key also lists those of other accounts: `?account=NAME`, or `?account=*` for all.",
    scope: [orderScopes.read, orderScopes.manage],
    returns: [200, [Order], 'A page of orders in the order of `sort`. `Link` has the next page.'],
  })
  async listOrders(@CurrentPrincipal() principal: Principal, @Query() query: ListOrdersQuery) {
    const page = await this.orders.list(await this.accounts.listedBy(principal, query.account), query);
    return page.with(await this.accounts.show(principal, page.items));
  }

  @Post()
  @Operation({
    id: 'placeOrder',
    summary: 'Order an animal',
    description: 'Orders an `available` animal, which becomes `pending`.',
    scope: orderScopes.write,
    idempotent: true,
    returns: [201, Order, 'The placed order. `Location` is its URL.'],
    rejects: [petErrors.pet_not_found, petErrors.pet_not_available],
  })
  placeOrder(
    @CurrentPrincipal() principal: Principal,
    @Body() order: NewOrder,
    @Transaction() transaction: EntityManager | undefined,
  ) {
    // Without `account`, which staff sees elsewhere: any key of the account may repeat the request.
    return this.orders.place(principal.accountId, order, transaction);
  }

  @Get(':orderId')
  @Operation({
    id: 'getOrder',
    summary: 'Get an order',
    description: "Returns an order of the key's account; with the scope `orders:manage` of any account.",
    scope: [orderScopes.read, orderScopes.manage],
    returns: [200, Order, 'The order.'],
  })
  async getOrder(@CurrentPrincipal() principal: Principal, @OrderId() id: bigint) {
    const [order] = await this.accounts.show(principal, [await this.orders.get(keyOf(principal, id))]);
    return order;
  }

  @Patch(':orderId')
  @Operation({
    id: 'updateOrder',
    summary: 'Cancel an order; staff also approve and deliver',
    description:
      'A `placed` order can be `approved`, and an `approved` order `delivered`; both can be `cancelled`. Delivery makes the animal `sold`; cancellation makes it `available` again. Approval and delivery need the scope `orders:manage`. An order that has the status already stays as it is.',
    scope: [orderScopes.write, orderScopes.manage],
    returns: [200, Order, 'The updated order.'],
    rejects: [petErrors.pet_not_available, orderErrors.invalid_transition],
  })
  async updateOrder(
    @CurrentPrincipal() principal: Principal,
    @OrderId() id: bigint,
    @Body() { status }: OrderUpdate,
    @IfMatch(Order) precondition: Precondition<Order>,
  ) {
    requireMaySet(principal, status);
    // The account of an order never changes. Read before the transaction, it occupies no second connection.
    const account = isStaff(principal) ? (await this.getOrder(principal, id))?.account : undefined;
    const view = (order: StoredOrder): Order => (account === undefined ? order : { ...order, account });
    // The tag of placeOrder's response is that of an order without `account`.
    const check = (current: StoredOrder): void => precondition(view(current), current);
    return view(await this.orders.update(keyOf(principal, id), status, check));
  }
}

/** Staff accesses the orders of every account. */
function keyOf(principal: Principal, id: bigint): OrderKey {
  return { id, accountId: isStaff(principal) ? undefined : principal.accountId };
}
