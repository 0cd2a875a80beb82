import { Body, Controller, Get, Param, Patch, Post, Query, Res, UseGuards } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { CurrentPrincipal, type Principal } from '../auth';
import { Operation } from '../platform/api-docs/operation.decorator';
import { IdPipe } from '../platform/validation/int64';
import { Links } from '../platform/paging/page';
import { preconditionOf } from '../platform/entity-tags/entity-tag';
import { petErrors } from '../pets';
import { IdempotentWork } from '../platform/idempotency';
import { AccountParameterGuard, isStaff, OrderAccounts, requireMaySet } from './order-staff';
import { ListOrdersQuery, NewOrder, Order, OrderUpdate } from './store-orders.dto';
import { orderErrors } from './store-orders.errors';
import type { OrderKey, StoredOrder } from './store-orders.repository';
import { orderScopes } from './store-orders.scopes';
import { STORE_ORDERS_PATH, StoreOrdersService } from './store-orders.service';

const ORDER_ID = { orderId: 'Identifier of the order.' };

@ApiTags('store orders')
@Controller({ path: STORE_ORDERS_PATH, version: '1' })
export class StoreOrdersController {
  constructor(
    private readonly orders: StoreOrdersService,
    private readonly accounts: OrderAccounts,
    private readonly links: Links,
    private readonly idempotent: IdempotentWork,
  ) {}

  @Get()
  @UseGuards(AccountParameterGuard)
  @Operation({
    id: 'listOrders',
    summary: 'List orders',
    description:
      "Lists the orders of the key's account in pages. With the scope `orders:manage` a key also lists those of other accounts: `?account=NAME`, or `?account=*` for all.",
    scope: [orderScopes.read, orderScopes.manage],
    returns: [200, [Order], 'A page of orders in the order of `sort`. `Link` has the next page.'],
  })
  async listOrders(
    @CurrentPrincipal() principal: Principal,
    @Query() query: ListOrdersQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const listed = await this.accounts.listedBy(principal, query.account);
    const page = await this.orders.list(listed, query);
    return this.links.page(reply, { ...page, items: await this.accounts.show(principal, page.items) });
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
    @CurrentPrincipal() principal: Principal,
    @Body() order: NewOrder,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    // Without `account`, which staff sees elsewhere: any key of the account may repeat the request.
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(
        reply,
        STORE_ORDERS_PATH,
        await this.orders.place(principal.accountId, order, transaction),
      ),
    );
  }

  @Get(':orderId')
  @Operation({
    id: 'getOrder',
    summary: 'Get an order',
    description: "Returns an order of the key's account; with the scope `orders:manage` of any account.",
    extension: true,
    scope: [orderScopes.read, orderScopes.manage],
    pathIds: ORDER_ID,
    returns: [200, Order, 'The order.'],
    rejects: [orderErrors.order_not_found],
  })
  async getOrder(
    @CurrentPrincipal() principal: Principal,
    @Param('orderId', new IdPipe(orderErrors.order_not_found)) id: bigint,
  ) {
    const [order] = await this.accounts.show(principal, [await this.orders.get(keyOf(principal, id))]);
    return order;
  }

  @Patch(':orderId')
  @Operation({
    id: 'updateOrder',
    summary: 'Cancel an order; staff also approve and deliver',
    description:
      'A `placed` order can be `approved`, and an `approved` order `delivered`; both can be `cancelled`. Delivery makes the animal `sold`; cancellation makes it `available` again. Approval and delivery need the scope `orders:manage`. An order that has the status already stays as it is.',
    extension: true,
    scope: [orderScopes.write, orderScopes.manage],
    conditional: true,
    pathIds: ORDER_ID,
    returns: [200, Order, 'The updated order.'],
    rejects: [orderErrors.order_not_found, petErrors.pet_not_available, orderErrors.invalid_transition],
  })
  async updateOrder(
    @CurrentPrincipal() principal: Principal,
    @Param('orderId', new IdPipe(orderErrors.order_not_found)) id: bigint,
    @Body() { status }: OrderUpdate,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    requireMaySet(principal, status);
    // The account of an order never changes. Read before the transaction, it occupies no second connection.
    const account = isStaff(principal) ? (await this.getOrder(principal, id))?.account : undefined;
    const view = (order: StoredOrder): Order => (account === undefined ? order : { ...order, account });
    const precondition = preconditionOf(reply, Order);
    const check = (current: StoredOrder): void => {
      try {
        precondition(view(current));
      } catch (error) {
        // The tag of placeOrder's response is that of an order without `account`.
        if (account === undefined || reply.request.headers['if-match'] === undefined) throw error;
        precondition(current);
      }
    };
    return view(await this.orders.update(keyOf(principal, id), status, check));
  }
}

/** Staff accesses the orders of every account. */
function keyOf(principal: Principal, id: bigint): OrderKey {
  return { id, accountId: isStaff(principal) ? undefined : principal.accountId };
}
