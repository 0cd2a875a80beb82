import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { CurrentPrincipal, type Principal, RequireScopeFor } from '../auth';
import { Operation } from '../api/operation/operation.decorator';
import { IfMatch, type Precondition } from '../api/entity-tags/entity-tag';
import { Idempotent, type Once } from '../api/idempotency/idempotent.decorator';
import { PathId } from '../api/fields/int64';
import { petErrors } from '../pets';
import { ListOrdersQuery, NewOrder, Order, OrderUpdate } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import { orderScopes } from './store-orders.scopes';
import { StoreOrdersService } from './store-orders.service';

const OrderId = () => PathId('orderId', 'Identifier of the order.', orderErrors.order_not_found);

@Controller('/store/orders')
export class StoreOrdersController {
  constructor(private readonly orders: StoreOrdersService) {}

  @Get()
  @RequireScopeFor('account', orderScopes.manage)
  @Operation({
    id: 'listOrders',
    isSpecified: true,
    summary: 'List orders',
    description:
      "Lists the orders of the key's account in pages. With the scope `orders:manage` a key also lists those of other accounts: `?account=NAME`, or `?account=*` for all.",
    scope: [orderScopes.read, orderScopes.manage],
    returns: [200, [Order], 'A page of orders in the order of `sort`. `Link` has the next page.'],
  })
  listOrders(@CurrentPrincipal() principal: Principal, @Query() query: ListOrdersQuery) {
    return this.orders.list(principal, query);
  }

  @Post()
  @Operation({
    id: 'placeOrder',
    summary: 'Order an animal',
    description: 'Orders an `available` animal, which becomes `pending`.',
    scope: orderScopes.write,
    returns: [201, Order, 'The placed order. `Location` is its URL.'],
    rejects: [petErrors.pet_not_found, petErrors.pet_not_available, orderErrors.too_many_open_orders],
  })
  placeOrder(@CurrentPrincipal() principal: Principal, @Body() order: NewOrder, @Idempotent() once: Once) {
    return once((transaction) => this.orders.place(principal, order, transaction));
  }

  @Get(':orderId')
  @Operation({
    id: 'getOrder',
    summary: 'Get an order',
    description: "Returns an order of the key's account; with the scope `orders:manage` of any account.",
    scope: [orderScopes.read, orderScopes.manage],
    returns: [200, Order, 'The order.'],
  })
  getOrder(@CurrentPrincipal() principal: Principal, @OrderId() id: bigint) {
    return this.orders.get(principal, id);
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
  updateOrder(
    @CurrentPrincipal() principal: Principal,
    @OrderId() id: bigint,
    @Body() { status }: OrderUpdate,
    @IfMatch(Order) precondition: Precondition<Order>,
  ) {
    return this.orders.update(principal, id, status, precondition);
  }
}
