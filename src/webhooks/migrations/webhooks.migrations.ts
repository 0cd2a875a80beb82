import { SqlMigration } from '../../database/migrations/sql-migration';

export class Webhooks1795219200031 extends SqlMigration {
  override readonly upSql = `
    CREATE TABLE webhooks (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      account_id bigint NOT NULL REFERENCES accounts (id),
      url text NOT NULL,
      types text[],
      secret bytea NOT NULL,
      replaced_secrets jsonb NOT NULL DEFAULT '[]',
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      position bigint NOT NULL,
      attempts int NOT NULL DEFAULT 0,
      failing_since timestamptz,
      due_at timestamptz NOT NULL,
      disabled_at timestamptz,
      last_delivery_at timestamptz,
      last_error text,
      is_slow boolean NOT NULL DEFAULT false
    );
    CREATE INDEX webhooks_account_id_id ON webhooks (account_id, id);
    CREATE INDEX webhooks_due ON webhooks ((attempts > 0 OR is_slow), due_at) WHERE disabled_at IS NULL;
    CREATE TABLE webhook_attempts (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      webhook_id bigint NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
      event_id bigint NOT NULL,
      type text NOT NULL,
      at timestamptz NOT NULL,
      duration_ms int NOT NULL,
      -- Null without a complete response in time.
      status int,
      response text,
      error text
    );
    CREATE INDEX webhook_attempts_webhook_id_id ON webhook_attempts (webhook_id, id)`;
  override readonly downSql = 'DROP TABLE webhook_attempts, webhooks';
}
