import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OrdersOnce1795219200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // An animal has at most one order that is neither delivered nor cancelled.
    await runner.query(`
      CREATE UNIQUE INDEX store_orders_open_pet_id ON store_orders (pet_id)
      WHERE status IN ('placed', 'approved')`);
    await runner.query(`
      CREATE TABLE idempotency_keys (
        -- SHA-256 of account, method, path and key: short for any length of them.
        id bytea PRIMARY KEY,
        body_hash bytea NOT NULL,
        status smallint NOT NULL,
        location text,
        answer text NOT NULL,
        created_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys');
    await runner.query('DROP INDEX store_orders_open_pet_id');
  }
}
