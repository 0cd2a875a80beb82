import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal } from '../auth';
import { Operation } from '../platform/api-docs/operation.decorator';
import { IdPipe } from '../platform/http/id.pipe';
import { Links } from '../platform/http/links';
import { petErrors } from '../pets';
import { IdempotentWork } from '../platform/idempotency';
import { ListOrdersQuery, NewOrder, Order, OrderUpdate } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import { orderScopes } from './store-orders.scopes';
import { STORE_ORDERS_PATH, StoreOrdersService } from './store-orders.service';

const ORDER_ID = { orderId: 'Identifier of the order.' };

@ApiTags('store orders')
@Controller({ path: STORE_ORDERS_PATH, version: '1' })
export class StoreOrdersController {
  constructor(
    private readonly orders: StoreOrdersService,
    private readonly links: Links,
    private readonly idempotent: IdempotentWork,
  ) {}

  @Get()
  @Operation({
    id: 'listOrders',
    summary: "List the account's orders",
    description: "Lists the orders of the key's account in pages, by ascending `id`.",
    scope: orderScopes.read,
    returns: [200, [Order], "A page of the account's orders by ascending `id`. `Link` has the next page."],
  })
  async listOrders(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListOrdersQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.links.page(reply, STORE_ORDERS_PATH, query, await this.orders.list(accountId, query));
  }

  @Post()
  @Operation({
    id: 'placeOrder',
    summary: 'Order an animal',
    description: 'Orders an `available` animal, which becomes `pending`.',
    extension: true,
    scope: orderScopes.write,
    idempotent: true,
    returns: [201, Order, 'The placed order. `Location` is its URL.'],
    rejects: [petErrors.pet_not_found, petErrors.pet_not_available],
  })
  placeOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() order: NewOrder,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(reply, STORE_ORDERS_PATH, await this.orders.place(accountId, order, transaction)),
    );
  }

  @Get(':orderId')
  @Operation({
    id: 'getOrder',
    summary: 'Get an order',
    description: "Returns one order of the key's account.",
    extension: true,
    scope: orderScopes.read,
    pathIds: ORDER_ID,
    returns: [200, Order, 'The order.'],
    rejects: [orderErrors.order_not_found],
  })
  getOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('orderId', new IdPipe(orderErrors.order_not_found)) id: bigint,
  ) {
    return this.orders.get({ id, accountId });
  }

  @Patch(':orderId')
  @Operation({
    id: 'updateOrder',
    summary: 'Approve, deliver or cancel an order',
    description:
      'A `placed` order can be `approved`, and an `approved` order `delivered`; both can be `cancelled`. Delivery makes the animal `sold`; cancellation makes it `available` again.',
    extension: true,
    scope: orderScopes.write,
    pathIds: ORDER_ID,
    returns: [200, Order, 'The updated order.'],
    rejects: [orderErrors.order_not_found, petErrors.pet_not_available, orderErrors.invalid_transition],
  })
  updateOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('orderId', new IdPipe(orderErrors.order_not_found)) id: bigint,
    @Body() { status }: OrderUpdate,
  ) {
    return this.orders.update({ id, accountId }, status);
  }
}
