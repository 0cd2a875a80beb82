import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StoreOrders1795219200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE store_orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account_id bigint NOT NULL REFERENCES accounts (id),
        pet_id bigint NOT NULL REFERENCES pets (id),
        status text NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'cancelled')),
        placed_at timestamptz NOT NULL
      )`);
    // For a page of an account's orders: without a filter, and of one status.
    await runner.query('CREATE INDEX store_orders_account_id_id ON store_orders (account_id, id)');
    await runner.query(
      'CREATE INDEX store_orders_account_id_status_id ON store_orders (account_id, status, id)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE store_orders');
  }
}
