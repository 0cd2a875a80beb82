import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ExtensionMigrations1795219200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE extension_migrations (
        -- As in the table of migrations.
        name text PRIMARY KEY,
        extension text NOT NULL,
        -- The statements that apply and revert it, if the code of the extension is removed.
        up jsonb NOT NULL,
        down jsonb NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE extension_migrations');
  }
}
