import { SqlMigration } from '../../platform/database/migrations/sql-migration';

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
      -- True while it has nothing to deliver.
      is_idle boolean NOT NULL DEFAULT false,
      waiting_since timestamptz,
      is_slow boolean NOT NULL DEFAULT false
    );
    CREATE INDEX webhooks_account_id_id ON webhooks (account_id, id);
    CREATE INDEX webhooks_due ON webhooks
      ((CASE WHEN attempts > 0 THEN 'failing' WHEN is_slow THEN 'slow' ELSE 'fast' END), due_at)
      WHERE NOT is_idle AND disabled_at IS NULL;
    CREATE INDEX webhooks_idle ON webhooks (id)
      WHERE is_idle AND (types IS NULL OR types && '{pet.created,pet.updated,pet.deleted}');
    CREATE TABLE webhook_log (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      -- The webhooks with an event up to this id are not idle.
      woken_to bigint NOT NULL
    );
    INSERT INTO webhook_log (woken_to) SELECT coalesce(max(id), 0) FROM events;
    -- Each statement of the function has a snapshot of its own, and the lock excludes \`wake\`.
    CREATE FUNCTION next_webhook_event(account bigint, wanted text[], after bigint) RETURNS timestamptz LANGUAGE sql AS $$
      LOCK TABLE webhook_log IN ROW EXCLUSIVE MODE;
      SELECT created_at FROM events
      WHERE id > after AND id <= (SELECT woken_to FROM webhook_log)
        AND (account_id IS NULL OR account_id = account) AND (wanted IS NULL OR type = ANY (wanted))
      ORDER BY id LIMIT 1
    $$;
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
  override readonly downSql = `
    DROP FUNCTION next_webhook_event;
    DROP TABLE webhook_attempts, webhook_log, webhooks`;
}

export const webhooksMigrations = [Webhooks1795219200031];
