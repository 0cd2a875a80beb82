import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RotatedSecrets1795219200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE rotated_secrets (
        -- SHA-256 of a replaced secret.
        secret_hash bytea PRIMARY KEY CHECK (octet_length(secret_hash) = 32),
        key_id uuid NOT NULL REFERENCES api_keys (id),
        -- End of its grace period; the key may expire or be revoked earlier.
        valid_until timestamptz NOT NULL CHECK (isfinite(valid_until))
      )`);
    // A rotation shortens the running grace periods of its key.
    await runner.query('CREATE INDEX rotated_secrets_key_id ON rotated_secrets (key_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE rotated_secrets');
  }
}
