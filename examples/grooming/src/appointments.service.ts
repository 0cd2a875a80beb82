import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf, cutPage, type Page, pageRequestOf, PetsService, Sql } from 'animal-store';
import type { EntityManager } from 'typeorm';
import type { Appointment, ListAppointmentsQuery, NewAppointment } from './appointments.dto';
import { appointmentErrors } from './appointments.errors';
import { AppointmentsRepository } from './appointments.repository';
import type { groomingSettings } from './grooming.settings';

/** Path of the list of appointments, relative to the base URL. */
export const APPOINTMENTS_PATH = '/grooming/appointments';

@Injectable()
export class AppointmentsService {
  constructor(
    private readonly sql: Sql,
    private readonly appointments: AppointmentsRepository,
    private readonly pets: PetsService,
    @Inject(CONFIG) private readonly config: ConfigOf<typeof groomingSettings>,
  ) {}

  /** @throws ApiError `invalid_cursor` */
  async list(accountId: bigint, query: ListAppointmentsQuery): Promise<Page<Appointment>> {
    const request = pageRequestOf(APPOINTMENTS_PATH, query);
    return cutPage(request, await this.appointments.list(accountId, query.status, request));
  }

  /**
   * Books an appointment. Of concurrent bookings of one time, as many succeed as there are places.
   *
   * @throws ApiError `pet_not_found`, `no_place_free`
   */
  create(accountId: bigint, appointment: NewAppointment, outer?: EntityManager): Promise<Appointment> {
    return this.sql.transaction(async (transaction) => {
      await this.pets.get(appointment.petId, transaction);
      await this.appointments.lockTime(appointment.startsAt, transaction);
      const places = this.config.groomingPlaces;
      const booked = await this.appointments.insert(accountId, appointment, places, transaction);
      if (!booked) throw appointmentErrors.no_place_free();
      return booked;
    }, outer);
  }

  /** @throws ApiError `appointment_not_found` */
  async get(accountId: bigint, id: bigint): Promise<Appointment> {
    const found = await this.appointments.find(accountId, id);
    if (!found) throw appointmentErrors.appointment_not_found();
    return found;
  }
}
