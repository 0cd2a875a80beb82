import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PetsOrder1795219200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // NULLS FIRST: an order that the index on (category_id, id) does not give (page-statements.ts).
    await runner.query('DROP INDEX pets_category_id_status_id');
    await runner.query(
      'CREATE INDEX pets_category_id_status_id ON pets (category_id NULLS FIRST, status, id)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX pets_category_id_status_id');
    await runner.query('CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id)');
  }
}
