import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RotatedSecrets1795219200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE rotated_secrets (
        -- SHA-256 of a secret that another one has replaced.
        secret_hash bytea PRIMARY KEY CHECK (octet_length(secret_hash) = 32),
        key_id uuid NOT NULL REFERENCES api_keys (id),
        -- End of its grace; the expiry or the revocation of the key may come first.
        valid_until timestamptz NOT NULL CHECK (isfinite(valid_until))
      )`);
    // A rotation shortens the graces that are running.
    await runner.query('CREATE INDEX rotated_secrets_key_id ON rotated_secrets (key_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE rotated_secrets');
  }
}
