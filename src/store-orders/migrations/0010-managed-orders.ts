import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ManagedOrders1795219200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The default is for instances of an earlier version that still run.
    await runner.query('ALTER TABLE store_orders ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now()');
    await runner.query('UPDATE store_orders SET updated_at = placed_at');
    // An order stays when its animal is removed. PetsService locks the animal, so no order of a removed one is placed.
    await runner.query('ALTER TABLE store_orders DROP CONSTRAINT store_orders_pet_id_fkey');
    // For a page of the orders of all accounts with one status.
    await runner.query('CREATE INDEX store_orders_status_id ON store_orders (status, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX store_orders_status_id');
    // Orders of animals that were removed meanwhile stay.
    await runner.query(`
      ALTER TABLE store_orders ADD CONSTRAINT store_orders_pet_id_fkey
      FOREIGN KEY (pet_id) REFERENCES pets (id) NOT VALID`);
    await runner.query('ALTER TABLE store_orders DROP COLUMN updated_at');
  }
}
