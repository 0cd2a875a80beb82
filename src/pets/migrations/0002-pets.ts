import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Pets1795219200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE pets (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
        category_id bigint NOT NULL,
        status text NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
      )`);
    // For a page of one status; the primary key serves a page without a filter.
    await runner.query('CREATE INDEX pets_status_id ON pets (status, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE pets');
  }
}
