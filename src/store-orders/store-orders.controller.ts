import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal, RequireScope } from '../auth';
import { Answers, Refuses } from '../http/answers.decorator';
import { Extension } from '../http/extension.decorator';
import { IdPipe } from '../http/id.pipe';
import { ApiIdParam } from '../http/int64.decorator';
import { Links } from '../http/links';
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
  @ApiOperation({ operationId: 'listOrders', summary: "List the account's orders" })
  @Answers(200, [Order], "A page of the account's orders by ascending id; `Link` leads to the next one.")
  @Refuses(400, 'A query parameter is not valid.')
  async listOrders(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListOrdersQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.links.page(reply, STORE_ORDERS_PATH, query, await this.orders.list(accountId, query));
  }

  @Post()
  @RequireScope('orders:write')
  @Extension('Orders an animal that is available; it becomes `pending`.')
  @ApiOperation({ operationId: 'placeOrder', summary: 'Order an animal' })
  @Answers(201, Order, 'The placed order; `Location` is its address.')
  @Refuses(400, 'The body lacks a required field or holds an invalid value.')
  @Refuses(404, 'There is no animal with this id.')
  @Refuses(409, 'The animal is reserved or sold.')
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
  @Extension('Fetches one order of the account.')
  @ApiOperation({ operationId: 'getOrder', summary: 'Get an order' })
  @ApiIdParam('orderId', 'Identifier of the order.')
  @Answers(200, Order, 'The order.')
  @Refuses(404, 'The account has no order with this id.')
  getOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('orderId', new IdPipe(orderNotFound)) id: bigint,
  ) {
    return this.orders.get({ id, accountId });
  }

  @Patch(':orderId')
  @RequireScope('orders:write')
  @Extension(
    'An order that is `placed` can be `approved`, then `delivered`; until it is delivered it can be `cancelled`. Delivered, the animal is `sold`; cancelled, `available` again.',
  )
  @ApiOperation({ operationId: 'updateOrder', summary: 'Approve, deliver or cancel an order' })
  @ApiIdParam('orderId', 'Identifier of the order.')
  @Answers(200, Order, 'The order as it is now.')
  @Refuses(400, 'The body lacks a required field or holds an invalid value.')
  @Refuses(404, 'The account has no order with this id.')
  @Refuses(409, 'The order cannot come to this status from the one it has.')
  updateOrder(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('orderId', new IdPipe(orderNotFound)) id: bigint,
    @Body() { status }: OrderUpdate,
  ) {
    return this.orders.update({ id, accountId }, status);
  }
}
