import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type ConfigOf, Events, OrderHooks, PetHolds, pages, PetsService, Sql } from 'animal-store';
import type { Precondition, Statement } from 'animal-store';
import type { EntityManager } from 'typeorm';
import type {
  GroomingAppointment,
  GroomingAppointmentUpdate,
  ListAppointmentsQuery,
  NewGroomingAppointment,
} from './appointments.dto';
import { appointmentErrors } from './appointments.errors';
import type { groomingSettings } from './grooming.settings';

const columns = 'id, pet_id, starts_at, treatment, status';

type Row = [bigint, bigint, Date, string, GroomingAppointment['status']];
function read([id, petId, startsAt, treatment, status]: Row): GroomingAppointment {
  return { id, petId, startsAt: startsAt.toISOString(), treatment, status };
}

/** Each combination of filters needs an index: see the migration. */
const APPOINTMENTS = pages(
  { table: 'grooming_appointments', columns, read },
  { always: ['account_id'], filters: { petId: 'pet_id', status: 'status' } },
);

const FIND_TEXT = `SELECT ${columns} FROM grooming_appointments WHERE account_id = $1 AND id = $2`;
const FIND: Statement = { read, text: FIND_TEXT };
const LOCK: Statement = { read, text: `${FIND_TEXT} FOR UPDATE` };

const INSERT: Statement = {
  read,
  text: `
    INSERT INTO grooming_appointments (account_id, pet_id, starts_at, treatment, status)
    VALUES ($1, $2, $3, $4, 'booked') RETURNING ${columns}`,
};
const UPDATE: Statement = {
  read,
  text: `
    UPDATE grooming_appointments SET starts_at = $2, treatment = $3, status = $4
    WHERE id = $1 RETURNING ${columns}`,
};
const DELETE: Statement = { text: 'DELETE FROM grooming_appointments WHERE id = $1' };

const FIND_BOOKED: Statement = {
  text: `SELECT id FROM grooming_appointments WHERE pet_id = $1 AND status = 'booked'`,
};
const CANCEL_BOOKED: Statement = {
  text: `UPDATE grooming_appointments SET status = 'cancelled' WHERE pet_id = $1 AND status = 'booked'`,
};

@Injectable()
export class AppointmentsService {
  constructor(
    private readonly sql: Sql,
    private readonly pets: PetsService,
    private readonly holds: PetHolds,
    private readonly orders: OrderHooks,
    private readonly events: Events,
    @Inject(CONFIG) private readonly config: ConfigOf<typeof groomingSettings>,
  ) {}

  onModuleInit(): void {
    this.holds.add({
      forbids: 'removal',
      error: appointmentErrors.pet_has_grooming_appointment,
      isHeld: async (petId, transaction) =>
        (await this.sql.rows(FIND_BOOKED, [petId], transaction)).length > 0,
    });
    this.orders.onMoved(async ({ order }, transaction) => {
      if (order.status === 'delivered') await this.sql.rows(CANCEL_BOOKED, [order.petId], transaction);
    });
  }

  list(accountId: bigint, query: ListAppointmentsQuery) {
    return APPOINTMENTS.list(this.sql, query, { account_id: accountId });
  }

  /** Inside a transaction, it locks the row. */
  async get(accountId: bigint, id: bigint, transaction?: EntityManager) {
    const [row] = await this.sql.rows<GroomingAppointment>(
      transaction ? LOCK : FIND,
      [accountId, id],
      transaction,
    );
    if (!row) throw appointmentErrors.grooming_appointment_not_found();
    return row;
  }

  create(accountId: bigint, { petId, startsAt, treatment }: NewGroomingAppointment, outer?: EntityManager) {
    return this.sql.transaction(async (transaction) => {
      // No other request removes the animal or counts its bookings.
      await this.pets.lock(petId, transaction);
      await this.requireFewBooked(petId, transaction);
      const values = [accountId, petId, startsAt, treatment];
      const [row] = await this.sql.rows<GroomingAppointment>(INSERT, values, transaction);
      if (row) await this.events.add('grooming.booked', row, accountId, transaction);
      return row;
    }, outer);
  }

  async update(
    accountId: bigint,
    id: bigint,
    change: GroomingAppointmentUpdate,
    precondition: Precondition<GroomingAppointment>,
  ) {
    const { petId } = await this.get(accountId, id);
    return this.sql.transaction(async (transaction) => {
      // The animal before its rows. If it was removed since, so were they.
      await this.pets.lock(petId, transaction, appointmentErrors.grooming_appointment_not_found);
      const before = await this.get(accountId, id, transaction);
      precondition(before);
      const { startsAt = before.startsAt, treatment = before.treatment, status = before.status } = change;
      if (status === 'booked' && before.status !== status) await this.requireFewBooked(petId, transaction);
      const values = [id, startsAt, treatment, status];
      const [row] = await this.sql.rows<GroomingAppointment>(UPDATE, values, transaction);
      return row;
    });
  }

  /** The transaction has locked the animal. */
  private async requireFewBooked(petId: bigint, transaction: EntityManager) {
    const booked = await this.sql.rows(FIND_BOOKED, [petId], transaction);
    if (booked.length >= this.config.groomingMaxBooked)
      throw appointmentErrors.too_many_grooming_appointments();
  }

  remove(accountId: bigint, id: bigint, precondition: Precondition<GroomingAppointment>) {
    return this.sql.transaction(async (transaction) => {
      precondition(await this.get(accountId, id, transaction));
      await this.sql.rows(DELETE, [id], transaction);
    });
  }
}
