import type { MigrationInterface, QueryRunner } from 'typeorm';

export class FindPets1795219200008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // For a page of one category, and of one category and status.
    await runner.query('CREATE INDEX pets_category_id_id ON pets (category_id, id)');
    await runner.query('CREATE INDEX pets_category_id_status_id ON pets (category_id, status, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX pets_category_id_status_id, pets_category_id_id');
  }
}
