import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import {
  CurrentPrincipal,
  Idempotent,
  IfMatch,
  type Once,
  Operation,
  PathId,
  petErrors,
  type Precondition,
  type Principal,
} from 'animal-store';
import {
  GroomingAppointment,
  GroomingAppointmentUpdate,
  ListAppointmentsQuery,
  NewGroomingAppointment,
} from './appointments.dto';
import { appointmentErrors } from './appointments.errors';
import { AppointmentsService } from './appointments.service';
import { groomingScopes } from './grooming.scopes';

const AppointmentId = () =>
  PathId('appointmentId', 'Identifier of the appointment.', appointmentErrors.grooming_appointment_not_found);

@Controller('grooming/appointments')
export class AppointmentsController {
  constructor(private readonly service: AppointmentsService) {}

  @Get()
  @Operation({
    id: 'listGroomingAppointments',
    summary: 'List the appointments of the account',
    description: "Lists the appointments of the key's account in pages. The filters combine by AND.",
    scope: groomingScopes.read,
    returns: [200, [GroomingAppointment], 'A page of appointments. `Link` has the next page.'],
  })
  listGroomingAppointments(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListAppointmentsQuery,
  ) {
    return this.service.list(accountId, query);
  }

  @Post()
  @Throttle({ default: { limit: 5, ttl: 60_000 } })
  @Operation({
    id: 'createGroomingAppointment',
    summary: 'Book one appointment',
    description: 'Books one appointment for an animal. While it is booked, the animal cannot be removed.',
    scope: groomingScopes.write,
    returns: [201, GroomingAppointment, 'The booked appointment. `Location` is its URL.'],
    rejects: [petErrors.pet_not_found, appointmentErrors.too_many_grooming_appointments],
  })
  createGroomingAppointment(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() body: NewGroomingAppointment,
    @Idempotent() once: Once,
  ) {
    return once((transaction) => this.service.create(accountId, body, transaction));
  }

  @Get(':appointmentId')
  @Operation({
    id: 'getGroomingAppointment',
    summary: 'Get one appointment',
    description: "Returns one of the appointments of the key's account.",
    scope: groomingScopes.read,
    returns: [200, GroomingAppointment, 'The appointment.'],
  })
  getGroomingAppointment(@CurrentPrincipal() { accountId }: Principal, @AppointmentId() id: bigint) {
    return this.service.get(accountId, id);
  }

  @Patch(':appointmentId')
  @Operation({
    id: 'updateGroomingAppointment',
    summary: 'Change one appointment',
    description:
      'Moves one appointment to another time, changes its treatment, cancels it or books it again.',
    scope: groomingScopes.write,
    returns: [200, GroomingAppointment, 'The changed appointment.'],
    rejects: [appointmentErrors.too_many_grooming_appointments],
  })
  updateGroomingAppointment(
    @CurrentPrincipal() { accountId }: Principal,
    @AppointmentId() id: bigint,
    @Body() body: GroomingAppointmentUpdate,
    @IfMatch(GroomingAppointment) precondition: Precondition<GroomingAppointment>,
  ) {
    return this.service.update(accountId, id, body, precondition);
  }

  @Delete(':appointmentId')
  @Operation({
    id: 'deleteGroomingAppointment',
    summary: 'Remove one appointment',
    description: 'Removes one appointment.',
    scope: groomingScopes.write,
    returns: [204, undefined, 'The appointment was removed.'],
  })
  deleteGroomingAppointment(
    @CurrentPrincipal() { accountId }: Principal,
    @AppointmentId() id: bigint,
    @IfMatch(GroomingAppointment) precondition: Precondition<GroomingAppointment>,
  ) {
    return this.service.remove(accountId, id, precondition);
  }
}
