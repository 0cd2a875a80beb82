import { ApiSchema } from '@nestjs/swagger';
import { PageQuery } from '../platform/paging/page';
import {
  type Choice,
  Instant,
  Int64,
  Nested,
  OneOf,
  SomeOf,
  Text,
  Timestamp,
} from '../platform/validation/fields';
import { QuickDto } from '../platform/validation/declare-field';
import { EVENT_TYPES, type EventType } from './event-types';

export const EVENT_TYPE: Choice = {
  name: 'EventType',
  description: 'What happened: `pet.…` to an animal, `order.…` to an order.',
  values: EVENT_TYPES,
};

const EVENT_START: Choice<'now'> = {
  name: 'EventStart',
  description: '`now`: after the newest event.',
  values: ['now'],
};

@ApiSchema({ description: 'The animal or the order, as the response of the change had it.' })
export class EventData {
  @Int64({ description: 'Identifier of the animal or of the order.', example: 1 })
  readonly id!: bigint;

  @Text({ max: 100, description: 'Status of the animal or of the order.', example: 'available' })
  readonly status!: string;

  @Text({ max: 255, optional: true, description: 'Only of an animal: its name.', example: 'Rex' })
  readonly name?: string;

  @Int64({ optional: true, description: 'Only of an animal: its category.', example: 3 })
  readonly categoryId?: bigint;

  @Int64({ optional: true, description: 'Only of an order: the ordered animal.' })
  readonly petId?: bigint;

  @Timestamp({ optional: true, description: 'Only of an order: when it was placed.' })
  readonly placedAt?: string;

  @Timestamp({ optional: true, description: 'Only of an order: when it was placed or last changed.' })
  readonly updatedAt?: string;

  @Timestamp({ optional: true, nullable: true, description: 'Only of an order: when it expires, or null.' })
  readonly expiresAt?: string | null;

  @Text({
    max: 100,
    optional: true,
    description:
      'Only of an order, and for a key with the scope `orders:manage`: the account that placed it.',
  })
  readonly account?: string | undefined;
}

/** Body of a response with an event. */
@ApiSchema({ description: 'A change of an animal or order.' })
export class Event {
  @Int64({ description: 'Identifier. Later events have higher ones.', example: 70_368_744_177_665n })
  readonly id!: bigint;

  @OneOf(EVENT_TYPE, { description: 'What happened.', example: 'pet.created' })
  readonly type!: EventType;

  @Timestamp({ description: 'When its transaction began.', example: '2026-11-21T12:00:00.000Z' })
  readonly createdAt!: string;

  @Nested(() => EventData, {
    description: 'The animal or the order after the change; a removed animal before it.',
  })
  readonly data!: EventData;
}

/** Query of listEvents. */
@QuickDto()
export class ListEventsQuery extends PageQuery {
  @SomeOf(EVENT_TYPE, {
    optional: true,
    description: 'Only events of these types, as `type=order.placed&type=order.cancelled`.',
  })
  readonly type?: readonly EventType[];

  @OneOf(EVENT_START, {
    optional: true,
    description: 'An empty page, whose next one has the later events. Read everything between the two.',
  })
  readonly from?: 'now';

  @Instant({
    optional: true,
    description:
      'Begins with the first event whose `createdAt` is later (RFC 3339); a time in the future is `from=now`. Only one of `cursor`, `from` and `since` may be given.',
  })
  readonly since?: string;
}
