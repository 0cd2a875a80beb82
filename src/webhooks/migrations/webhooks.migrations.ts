import { SqlMigration } from '../../platform/database/migrations/sql-migration';

export class Webhooks1795219200031 extends SqlMigration {
  override readonly upSql = `
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
    );
    CREATE INDEX webhooks_account_id_id ON webhooks (account_id, id)`;
  override readonly downSql = 'DROP TABLE webhooks';
}

export class ReplacedSecrets1795219200034 extends SqlMigration {
  override readonly upSql = "ALTER TABLE webhooks ADD COLUMN older_secrets jsonb NOT NULL DEFAULT '[]'";
  override readonly downSql = 'ALTER TABLE webhooks DROP COLUMN older_secrets';
}

/** Says which webhooks have nothing to deliver. The version before does not write it, so what it creates is due. */
export class WaitingWebhooks1795219200035 extends SqlMigration {
  override readonly upSql = `
    ALTER TABLE webhooks
      ADD is_idle boolean NOT NULL DEFAULT false,
      ADD waiting_since timestamptz,
      ADD is_slow boolean NOT NULL DEFAULT false;
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
    $$`;
  override readonly downSql = `
    DROP FUNCTION next_webhook_event;
    DROP TABLE webhook_log;
    ALTER TABLE webhooks DROP is_idle, DROP waiting_since, DROP is_slow`;
}

export class WebhookAttempts1795219200038 extends SqlMigration {
  override readonly upSql = `
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
  override readonly downSql = 'DROP TABLE webhook_attempts';
}

export const webhooksMigrations = [
  Webhooks1795219200031,
  ReplacedSecrets1795219200034,
  WaitingWebhooks1795219200035,
  WebhookAttempts1795219200038,
];
