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

export class PetsOrder1795219200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // NULLS FIRST: an order that the index on (category_id, id) does not give (pages.ts).
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

export const petsMigrations = [Pets1795219200001, FindPets1795219200008, PetsOrder1795219200010];
