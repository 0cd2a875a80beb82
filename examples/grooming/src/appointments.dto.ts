import { ApiSchema, IntersectionType, PartialType, PickType } from '@nestjs/swagger';
import { AtLeastOne, Int64, OneOf, SortedPageQuery, Text, Timestamp } from 'animal-store';

const STATUS = {
  name: 'GroomingAppointmentStatus',
  description: 'It becomes `cancelled` when the animal is sold.',
  values: ['booked', 'cancelled'],
};

@ApiSchema({ description: 'One of the appointments of an animal.' })
export class GroomingAppointment {
  @Int64({ description: 'Unique identifier, assigned by the service.', example: 1 })
  readonly id!: bigint;

  @Int64({ description: 'Identifier of the animal.', example: 1 })
  readonly petId!: bigint;

  @Timestamp({ description: 'When it begins.', example: '2027-03-01T09:00:00.000Z' })
  readonly startsAt!: string;

  @Text({ max: 100, description: 'What is to be done.', example: 'Bath' })
  readonly treatment!: string;

  @OneOf(STATUS, { description: 'Whether it takes place.', example: 'booked' })
  readonly status!: 'booked' | 'cancelled';
}

@ApiSchema({ description: 'The appointment to book. Members that are not listed are ignored.' })
export class NewGroomingAppointment extends PickType(GroomingAppointment, [
  'petId',
  'startsAt',
  'treatment',
]) {}

@AtLeastOne()
@ApiSchema({ description: 'The changes. Members that are not listed are ignored.' })
export class GroomingAppointmentUpdate extends PartialType(
  PickType(GroomingAppointment, ['startsAt', 'treatment', 'status']),
  { skipNullProperties: false },
) {}

export class ListAppointmentsQuery extends IntersectionType(
  SortedPageQuery,
  PartialType(PickType(GroomingAppointment, ['petId', 'status'])),
) {}
