import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { ApiInt64, IsInt64 } from '../platform/api-docs/int64.decorator';
import { IsOmittable } from '../platform/http/omittable.decorator';
import { PageQuery } from '../platform/http/page';
import { ORDER_STATUSES, type OrderStatus } from './order-status';

const STATUS_PROPERTY = {
  enum: ORDER_STATUSES,
  enumName: 'OrderStatus',
  enumSchema: { description: 'Status of an order; `delivered` and `cancelled` are final.' },
} as const;

/** Length of `2026-11-21T12:00:00.000Z`. */
const TIME_LENGTH = 24;

/** Body of placeOrder. */
@ApiSchema({ description: 'An order to place. Members that are not listed are ignored.' })
export class NewOrder {
  @ApiInt64('Identifier of the animal to order.', 1)
  @IsInt64()
  readonly petId!: bigint;
}

/** Body of updateOrder. */
@ApiSchema({ description: 'A new status for an order. Members that are not listed are ignored.' })
export class OrderUpdate {
  @ApiProperty({ ...STATUS_PROPERTY, description: 'New status of the order.', example: 'approved' })
  @IsIn(ORDER_STATUSES, { message: `status must be one of ${ORDER_STATUSES.join(', ')}` })
  readonly status!: OrderStatus;
}

/** Body of a response with an order. */
@ApiSchema({ description: 'An order of an animal.' })
export class Order {
  @ApiInt64('Unique identifier, assigned by the service.', 1)
  readonly id!: bigint;

  @ApiInt64('Identifier of the ordered animal.', 1)
  readonly petId!: bigint;

  @ApiProperty({ ...STATUS_PROPERTY, description: 'Status of the order.', example: 'placed' })
  readonly status!: OrderStatus;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    minLength: TIME_LENGTH,
    maxLength: TIME_LENGTH,
    description: 'When the order was placed (RFC 3339, UTC, to the millisecond).',
    example: '2026-11-21T12:00:00.000Z',
  })
  readonly placedAt!: string;
}

/** Query of listOrders. */
export class ListOrdersQuery extends PageQuery {
  @ApiPropertyOptional({
    ...STATUS_PROPERTY,
    description: 'Only orders with this status.',
    example: 'placed',
  })
  @IsOmittable()
  @IsIn(ORDER_STATUSES, { message: `status must be one of ${ORDER_STATUSES.join(', ')}` })
  readonly status?: OrderStatus;

  override filters(): Readonly<Record<string, string | undefined>> {
    return { status: this.status };
  }
}

/** A row of `store_orders`. */
export type OrderRow = Omit<Order, 'placedAt'> & { readonly placedAt: Date };

export function toOrder({ placedAt, ...row }: OrderRow): Order {
  return { ...row, placedAt: placedAt.toISOString() };
}
