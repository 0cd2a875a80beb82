import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { defineErrors, type Extension, Operation, OneOf, parsers, petErrors, Text } from '../../../src';
import { migrationOf } from '../../database/support/extensions';

/** Returns an extension whose names do not contain its own, so that two of them collide everywhere. */
export function clinicOf(name: string): Extension {
  @ApiSchema({ description: 'An appointment.' })
  class Appointment {
    @Text({ max: 9, description: `Place at ${name}.`, example: 'A1' })
    readonly place!: string;

    @OneOf(
      { name: 'AppointmentKind', description: 'Kind.', values: [name] },
      { description: 'Its kind.', example: name },
    )
    readonly kind!: string;
  }

  /** Equal in every extension, until one of them is changed. */
  @ApiSchema({ description: 'An appointment to book.' })
  class NewAppointment {
    @Text({ max: 9, description: 'Wish.', example: 'Bath' })
    readonly wish!: string;
  }

  const errors = defineErrors({
    clinic_closed: { status: 409, when: 'the clinic is closed', message: 'The clinic is closed.' },
  });

  @Controller('appointments')
  class ClinicController {
    @Get(`:${name.slice(0, 3)}Id`)
    @Operation({
      id: 'getAppointment',
      summary: 'Get an appointment',
      description: 'Returns an appointment.',
      scope: 'pets:read',
      returns: [200, Appointment, 'The appointment.'],
      // Two extensions may name one error.
      rejects: [errors.clinic_closed, petErrors.pet_not_found],
    })
    get(): Appointment {
      return { place: name, kind: name };
    }

    @Post()
    @Operation({
      id: 'createAppointment',
      summary: 'Book an appointment',
      description: 'Books an appointment.',
      scope: 'pets:read',
      returns: [201, Appointment, 'The appointment.'],
    })
    create(@Body() _body: NewAppointment): Appointment {
      return { place: name, kind: name };
    }
  }

  // A module of the extension need not name the others.
  @Module({ controllers: [ClinicController] })
  class RoutesModule {}

  @Module({ imports: [RoutesModule] })
  class ClinicModule {}

  const create = 'CREATE TABLE appointments (); CREATE INDEX ON appointments ((1))';
  return {
    name,
    modules: [ClinicModule],
    migrations: [migrationOf('Appointments1795300000000', create, 'DROP TABLE appointments')],
    tags: { appointments: 'Appointments.' },
    settings: {
      openFrom: { variable: 'OPEN_FROM', defaultText: '8', parse: parsers.text, meaning: 'The first hour.' },
    },
  };
}
