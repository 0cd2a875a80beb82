import { ApiSchema } from '@nestjs/swagger';
import { type Choice, Int64, OneOf, Timestamp } from '../platform/http/fields';
import { PageQuery } from '../platform/http/page';
import { ORDER_STATUSES, type OrderStatus } from './order-status';

const STATUS: Choice = {
  name: 'OrderStatus',
  description: 'Status of an order; `delivered` and `cancelled` are final.',
  values: ORDER_STATUSES,
};

/** Body of placeOrder. */
@ApiSchema({ description: 'An order to place. Members that are not listed are ignored.' })
export class NewOrder {
  @Int64({ description: 'Identifier of the animal to order.', example: 1 })
  readonly petId!: bigint;
}

/** Body of updateOrder. */
@ApiSchema({ description: 'A new status for an order. Members that are not listed are ignored.' })
export class OrderUpdate {
  @OneOf(STATUS, { description: 'New status of the order.', example: 'approved' })
  readonly status!: OrderStatus;
}

/** Body of a response with an order. */
@ApiSchema({ description: 'An order of an animal.' })
export class Order {
  @Int64({ description: 'Unique identifier, assigned by the service.', example: 1 })
  readonly id!: bigint;

  @Int64({ description: 'Identifier of the ordered animal.', example: 1 })
  readonly petId!: bigint;

  @OneOf(STATUS, { description: 'Status of the order.', example: 'placed' })
  readonly status!: OrderStatus;

  @Timestamp({
    description: 'When the order was placed (RFC 3339, UTC, to the millisecond).',
    example: '2026-11-21T12:00:00.000Z',
  })
  readonly placedAt!: string;
}

/** Query of listOrders. */
export class ListOrdersQuery extends PageQuery {
  @OneOf(STATUS, { optional: true, description: 'Only orders with this status.', example: 'placed' })
  readonly status?: OrderStatus;

  override filters(): Readonly<Record<string, string | undefined>> {
    return { status: this.status };
  }
}
