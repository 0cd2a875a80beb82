import type { MigrationInterface, QueryRunner } from 'typeorm';

export abstract class SqlMigration implements MigrationInterface {
  protected abstract readonly upSql: string;
  protected abstract readonly downSql: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(this.upSql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(this.downSql);
  }
}

/** A migration whose statements another one contains. Databases have its name. */
export class MergedMigration extends SqlMigration {
  override readonly upSql = 'SELECT';
  override readonly downSql = 'SELECT';
}
