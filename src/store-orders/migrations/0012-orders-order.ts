import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OrdersOrder1795219200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // NULLS FIRST: an order that the index on (account_id, id) does not give (page-statements.ts).
    await runner.query('DROP INDEX store_orders_account_id_status_id');
    await runner.query(`
      CREATE INDEX store_orders_account_id_status_id ON store_orders (account_id NULLS FIRST, status, id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX store_orders_account_id_status_id');
    await runner.query(
      'CREATE INDEX store_orders_account_id_status_id ON store_orders (account_id, status, id)',
    );
  }
}
