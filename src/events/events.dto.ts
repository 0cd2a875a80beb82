import { ApiSchema } from '@nestjs/swagger';
import { PageQuery } from '../api/lists/page';
import { type Choice, Int64, OneOf, SomeOf, Timestamp } from '../api/fields/fields';
import { QuickDto } from '../api/fields/validation.pipe';
import { KNOWN_TYPES } from './event-type-registry';

export const EVENT_TYPE: Choice = {
  name: 'EventType',
  description: 'What happened: `pet.…` to an animal, `order.…` to an order.',
  values: KNOWN_TYPES,
  isOpen: true,
};

const EVENT_START: Choice<'now'> = {
  name: 'EventStart',
  description: '`now`: after the newest event.',
  values: ['now'],
};

/**
 * Body of a response with an event. The document has a variant for each class of `data`, which is an object of it, as the
 * response of the change had it.
 */
@ApiSchema({ description: 'Something that happened. `type` tells what `data` is.' })
export class Event {
  @Int64({ description: 'Identifier. Later events have higher ones.', example: 70_368_744_177_665n })
  readonly id!: bigint;

  @OneOf(EVENT_TYPE, { description: 'What happened.', example: 'pet.created' })
  readonly type!: string;

  @Timestamp({ description: 'When its transaction began.' })
  readonly createdAt!: string;

  declare readonly data: object;
}

@QuickDto()
export class ListEventsQuery extends PageQuery {
  @SomeOf(EVENT_TYPE, {
    optional: true,
    description: 'Only events of these types, as `type=order.placed&type=order.cancelled`.',
  })
  readonly type?: readonly string[];

  @OneOf(EVENT_START, {
    optional: true,
    description:
      'An empty page. Read all animals and orders, then follow its `next`. Not together with `cursor`.',
  })
  readonly from?: 'now';
}
