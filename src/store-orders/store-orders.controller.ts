import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal, RequireScope } from '../auth';
import { Answers, Refuses } from '../http/answers.decorator';
import { IdPipe } from '../http/id.pipe';
import { ApiIdParam } from '../http/int64.decorator';
import { Links } from '../http/links';
import { Extension, Operation } from '../http/operation.decorator';
import { Idempotent, IdempotentWork } from '../idempotency';
import { ListOrdersQuery, NewOrder, Order, OrderUpdate } from './store-orders.dto';
import { orderNotFound } from './store-orders.errors';
import { STORE_ORDERS_PATH, StoreOrdersService } from './store-orders.service';

@ApiTags('store orders')
@Controller({ path: STORE_ORDERS_PATH, version: '1' })
export class StoreOrdersController {
  constructor(
    private readonly orders: StoreOrdersService,
    private readonly links: Links,
    private readonly idempotent: IdempotentWork,
  ) {}

  @Get()
  @RequireScope('orders:read')
  @Operation(
    'listOrders',
    "List the account's orders",
    "Lists the orders of the key's account by ascending `id`, page by page.",
  )
  @Answers(200, [Order], "A page of the account's orders by ascending id; `Link` leads to the next one.")
  async listOrders(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListOrdersQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.links.page(reply, STORE_ORDERS_PATH, query, await this.orders.list(accountId, query));
  }

  @Post()
  @RequireScope('orders:write')
  @Extension('placeOrder', 'Order an animal', 'Orders an animal that is available; it becomes `pending`.')
  @Answers(201, Order, 'The placed order; `Location` is its address.')
  @Refuses('pet_not_found', 'pet_not_available')
  @Idempotent()
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
  @RequireScope('orders:read')
  @Extension('getOrder', 'Get an order', 'Fetches one order of the account.')
  @ApiIdParam('orderId', 'Identifier of the order.')
  @Answers(200, Order, 'The order.')
  @Refuses('order_not_found')
  getOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('orderId', new IdPipe(orderNotFound)) id: bigint,
  ) {
    return this.orders.get({ id, accountId });
  }

  @Patch(':orderId')
  @RequireScope('orders:write')
  @Extension(
    'updateOrder',
    'Approve, deliver or cancel an order',
    'An order that is `placed` can be `approved`, then `delivered`; until it is delivered it can be `cancelled`. Delivered, the animal is `sold`; cancelled, `available` again.',
  )
  @ApiIdParam('orderId', 'Identifier of the order.')
  @Answers(200, Order, 'The order as it is now.')
  @Refuses('order_not_found', 'invalid_transition')
  updateOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('orderId', new IdPipe(orderNotFound)) id: bigint,
    @Body() { status }: OrderUpdate,
  ) {
    return this.orders.update({ id, accountId }, status);
  }
}
