import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import {
  CurrentPrincipal,
  IdempotentWork,
  IdPipe,
  Links,
  Operation,
  petErrors,
  type Principal,
} from 'animal-store';
import type { FastifyReply } from 'fastify';
import { Appointment, ListAppointmentsQuery, NewAppointment } from './appointments.dto';
import { appointmentErrors } from './appointments.errors';
import { APPOINTMENTS_PATH, AppointmentsService } from './appointments.service';
import { groomingScopes } from './grooming.scopes';

@ApiTags('grooming')
@Controller({ path: APPOINTMENTS_PATH, version: '1' })
export class AppointmentsController {
  constructor(
    private readonly appointments: AppointmentsService,
    private readonly links: Links,
    private readonly idempotent: IdempotentWork,
  ) {}

  @Get()
  @Operation({
    id: 'listAppointments',
    summary: "List the account's appointments",
    description: "Lists the appointments of the key's account in pages, by ascending `id`.",
    scope: groomingScopes.read,
    returns: [200, [Appointment], 'A page of appointments by ascending `id`. `Link` has the next page.'],
  })
  async listAppointments(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListAppointmentsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.links.page(reply, await this.appointments.list(accountId, query));
  }

  @Post()
  @Throttle({ default: { limit: 5, ttl: 60_000 } })
  @Operation({
    id: 'createAppointment',
    summary: 'Book an appointment',
    description: 'Books an appointment for an animal. At most 5 a minute for each account.',
    scope: groomingScopes.write,
    idempotent: true,
    returns: [201, Appointment, 'The appointment. `Location` is its URL.'],
    rejects: [petErrors.pet_not_found, appointmentErrors.no_place_free],
  })
  createAppointment(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() appointment: NewAppointment,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(
        reply,
        APPOINTMENTS_PATH,
        await this.appointments.create(accountId, appointment, transaction),
      ),
    );
  }

  @Get(':appointmentId')
  @Operation({
    id: 'getAppointment',
    summary: 'Get an appointment',
    description: "Returns one appointment of the key's account.",
    scope: groomingScopes.read,
    pathIds: { appointmentId: 'Identifier of the appointment.' },
    returns: [200, Appointment, 'The appointment.'],
    rejects: [appointmentErrors.appointment_not_found],
  })
  getAppointment(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('appointmentId', new IdPipe(appointmentErrors.appointment_not_found)) id: bigint,
  ) {
    return this.appointments.get(accountId, id);
  }
}
