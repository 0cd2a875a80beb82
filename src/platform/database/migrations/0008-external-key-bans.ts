import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ExternalKeyBans1795219200007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Bans of keys that are not in api_keys, because the authenticator of a team names them.
      CREATE TABLE external_key_bans (
        key_id text PRIMARY KEY,
        banned_at timestamptz NOT NULL,
        banned_until timestamptz NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE external_key_bans');
  }
}
