import { ApiSchema } from '@nestjs/swagger';
import { type Choice, Int64, OneOf, SomeOf, Text, Timestamp } from '../api/fields/fields';
import { QuickDto } from '../api/fields/validation.pipe';
import { SortedPageQuery } from '../api/lists/page';
import { ORDER_STATUSES, type OrderStatus } from './order-status';

const STATUS: Choice = {
  name: 'OrderStatus',
  description: 'Status of an order; `delivered` and `cancelled` are final.',
  values: ORDER_STATUSES,
};

@ApiSchema({ description: 'An order to place. Members that are not listed are ignored.' })
@QuickDto()
export class NewOrder {
  @Int64({ description: 'Identifier of the animal to order.', example: 1 })
  readonly petId!: bigint;
}

@ApiSchema({ description: 'A new status for an order. Members that are not listed are ignored.' })
@QuickDto()
export class OrderUpdate {
  @OneOf(STATUS, { description: 'New status of the order.', example: 'cancelled' })
  readonly status!: OrderStatus;
}

@ApiSchema({ description: 'An order of an animal.' })
export class Order {
  @Int64({ description: 'Unique identifier, assigned by the service.', example: 1 })
  readonly id!: bigint;

  @Int64({ description: 'Identifier of the ordered animal.', example: 1 })
  readonly petId!: bigint;

  @OneOf(STATUS, { description: 'Status of the order.', example: 'placed' })
  readonly status!: OrderStatus;

  @Timestamp({ description: 'When the order was placed (RFC 3339, UTC, to the millisecond).' })
  readonly placedAt!: string;

  @Timestamp({
    description: 'When the order was placed or last changed (RFC 3339, UTC, to the millisecond).',
  })
  readonly updatedAt!: string;

  @Timestamp({
    nullable: true,
    description:
      'When the service cancels the order unless it is approved before (RFC 3339, UTC, to the millisecond). Null if it is not `placed`, or does not expire.',
    example: '2026-11-28T12:00:00.000Z',
  })
  readonly expiresAt!: string | null;

  @Text({
    max: 100,
    optional: true,
    description: 'Name of the account that placed the order. Only for a key with the scope `orders:manage`.',
    example: 'shop',
  })
  readonly account?: string;
}

@QuickDto()
export class ListOrdersQuery extends SortedPageQuery {
  @Text({
    max: 100,
    optional: true,
    description:
      'The orders of the account with this name, or of all accounts with `*`. The key needs the scope `orders:manage`.',
  })
  readonly account?: string;

  @SomeOf(STATUS, {
    optional: true,
    description: 'Only orders with one of these statuses, as `status=placed&status=approved`.',
  })
  readonly status?: readonly OrderStatus[];

  @Int64({ optional: true, description: 'Only orders of this animal.' })
  readonly petId?: bigint;
}
