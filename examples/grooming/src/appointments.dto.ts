import { ApiSchema } from '@nestjs/swagger';
import { Int64, OneOf, PageQuery, Timestamp } from 'animal-store';

const STATUS = {
  name: 'AppointmentStatus',
  description: 'Status of an appointment. It is `cancelled` when the animal is sold.',
  values: ['booked', 'cancelled'],
};

const PET = { description: 'Identifier of the animal.', example: 1 } as const;
const STARTS_AT = {
  description: 'Beginning of the appointment.',
  example: '2027-03-01T09:00:00.000Z',
} as const;

/** Body of createAppointment. */
@ApiSchema({ description: 'An appointment to book. Members that are not listed are ignored.' })
export class NewAppointment {
  @Int64(PET)
  readonly petId!: bigint;

  @Timestamp(STARTS_AT)
  readonly startsAt!: string;
}

/** Body of a response with an appointment. */
@ApiSchema({ description: 'An appointment of an animal at the groomer.' })
export class Appointment {
  @Int64({ description: 'Unique identifier, assigned by the service.', example: 1 })
  readonly id!: bigint;

  @Int64(PET)
  readonly petId!: bigint;

  @Timestamp(STARTS_AT)
  readonly startsAt!: string;

  @OneOf(STATUS, { description: 'Status of the appointment.', example: 'booked' })
  readonly status!: 'booked' | 'cancelled';
}

/** Query of listAppointments. */
export class ListAppointmentsQuery extends PageQuery {
  @OneOf(STATUS, { optional: true, description: 'Only appointments with this status.', example: 'booked' })
  readonly status?: 'booked' | 'cancelled';

  override filters(): Readonly<Record<string, string | undefined>> {
    return { status: this.status };
  }
}
