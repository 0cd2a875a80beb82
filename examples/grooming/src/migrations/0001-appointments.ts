import type { MigrationInterface, QueryRunner } from 'typeorm';

export class GroomingAppointments1795300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE grooming_appointments (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account_id bigint NOT NULL REFERENCES accounts (id),
        pet_id bigint NOT NULL REFERENCES pets (id) ON DELETE CASCADE,
        starts_at timestamptz NOT NULL,
        treatment text NOT NULL,
        status text NOT NULL CHECK (status IN ('booked', 'cancelled'))
      );
      -- For the list: without a filter, and with each combination of filters.
      CREATE INDEX ON grooming_appointments (account_id, id);
      CREATE INDEX ON grooming_appointments (account_id NULLS FIRST, pet_id, id);
      CREATE INDEX ON grooming_appointments (account_id NULLS FIRST, status, id);
      CREATE INDEX ON grooming_appointments (account_id NULLS FIRST, pet_id, status, id);
      -- For the appointments of an animal, of all accounts.
      CREATE INDEX ON grooming_appointments (pet_id);`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE grooming_appointments');
  }
}
