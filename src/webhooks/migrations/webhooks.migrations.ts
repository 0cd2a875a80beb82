import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Webhooks1795219200031 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhooks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account_id bigint NOT NULL REFERENCES accounts (id),
        url text NOT NULL,
        types text[],
        secret bytea NOT NULL,
        previous_secret bytea,
        previous_secret_until timestamptz,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        position bigint NOT NULL,
        attempts int NOT NULL DEFAULT 0,
        failing_since timestamptz,
        due_at timestamptz NOT NULL,
        disabled_at timestamptz,
        last_delivery_at timestamptz,
        last_error text
      )`);
    await runner.query('CREATE INDEX webhooks_account_id_id ON webhooks (account_id, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE webhooks');
  }
}

export class ReplacedSecrets1795219200034 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query("ALTER TABLE webhooks ADD COLUMN older_secrets jsonb NOT NULL DEFAULT '[]'");
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhooks DROP COLUMN older_secrets');
  }
}

export const webhooksMigrations = [Webhooks1795219200031, ReplacedSecrets1795219200034];
