import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal, RequireScope } from '../auth';
import { Answers, Refuses } from '../http/answers.decorator';
import { Links } from '../http/links';
import { ListOrdersQuery, Order } from './store-orders.dto';
import { STORE_ORDERS_PATH, StoreOrdersService } from './store-orders.service';

@ApiTags('store orders')
@Controller({ path: STORE_ORDERS_PATH, version: '1' })
export class StoreOrdersController {
  constructor(
    private readonly orders: StoreOrdersService,
    private readonly links: Links,
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
}
