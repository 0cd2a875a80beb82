import { Injectable } from '@nestjs/common';
import { type PageRequest, Sql, type Statement } from 'animal-store';
import type { EntityManager } from 'typeorm';
import type { Appointment, NewAppointment } from './appointments.dto';

type Status = Appointment['status'];
type Row = Omit<Appointment, 'startsAt'> & { readonly startsAt: Date };

const COLUMNS = 'id, pet_id AS "petId", starts_at AS "startsAt", status';

const LIST: Statement = {
  name: 'grooming_list',
  text: `
    SELECT ${COLUMNS} FROM grooming_appointments
    WHERE account_id = $1 AND id >= $2 AND ($3::text IS NULL OR status = $3)
    ORDER BY account_id, id LIMIT $4`,
};

const FIND: Statement = {
  name: 'grooming_find',
  text: `SELECT ${COLUMNS} FROM grooming_appointments WHERE account_id = $1 AND id = $2`,
};

/** Bookings of one time wait for each other, so that each counts all earlier ones. */
const LOCK_TIME: Statement = {
  name: 'grooming_lock_time',
  text: `SELECT pg_advisory_xact_lock(hashtext('grooming'), hashtext($1))`,
};

const INSERT: Statement = {
  name: 'grooming_insert',
  text: `
    INSERT INTO grooming_appointments (account_id, pet_id, starts_at, status)
    SELECT $1, $2, $3, 'booked'
    WHERE (SELECT count(*) FROM grooming_appointments WHERE starts_at = $3 AND status = 'booked') < $4::integer
    RETURNING ${COLUMNS}`,
};

const CANCEL: Statement = {
  name: 'grooming_cancel',
  text: `UPDATE grooming_appointments SET status = 'cancelled' WHERE pet_id = $1 AND status = 'booked'`,
};

/** The statements about appointments. */
@Injectable()
export class AppointmentsRepository {
  constructor(private readonly sql: Sql) {}

  async list(
    accountId: bigint,
    status: Status | undefined,
    { first, count }: PageRequest,
  ): Promise<Appointment[]> {
    const rows = await this.sql.rows<Row>(LIST, [accountId, first, status ?? null, count]);
    return rows.map(toAppointment);
  }

  async find(accountId: bigint, id: bigint): Promise<Appointment | undefined> {
    const [row] = await this.sql.rows<Row>(FIND, [accountId, id]);
    return row && toAppointment(row);
  }

  /** Locks a time until the transaction ends. */
  async lockTime(startsAt: string, transaction: EntityManager): Promise<void> {
    await this.sql.rows(LOCK_TIME, [startsAt], transaction);
  }

  /** @returns undefined if as many appointments are booked at this time as there are places */
  async insert(
    accountId: bigint,
    { petId, startsAt }: NewAppointment,
    places: number,
    transaction: EntityManager,
  ): Promise<Appointment | undefined> {
    const [row] = await this.sql.rows<Row>(INSERT, [accountId, petId, startsAt, places], transaction);
    return row && toAppointment(row);
  }

  async cancelOf(petId: bigint, transaction: EntityManager): Promise<void> {
    await this.sql.rows(CANCEL, [petId], transaction);
  }
}

function toAppointment({ startsAt, ...row }: Row): Appointment {
  return { ...row, startsAt: startsAt.toISOString() };
}
