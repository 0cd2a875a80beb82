import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Appointments1795300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE grooming_appointments (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account_id bigint NOT NULL REFERENCES accounts (id),
        pet_id bigint NOT NULL REFERENCES pets (id),
        starts_at timestamptz NOT NULL,
        status text NOT NULL CHECK (status IN ('booked', 'cancelled'))
      )`);
    await runner.query(
      'CREATE INDEX grooming_appointments_account ON grooming_appointments (account_id, id)',
    );
    await runner.query(
      `CREATE INDEX grooming_appointments_booked ON grooming_appointments (starts_at) WHERE status = 'booked'`,
    );
    await runner.query('CREATE INDEX grooming_appointments_pet ON grooming_appointments (pet_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE grooming_appointments');
  }
}
