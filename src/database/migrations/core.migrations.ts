import { MergedMigration, SqlMigration } from './sql-migration';

/** The tables of version 1.1 that belong to no extension. */
class AccountsAndApiKeys1795219200000 extends SqlMigration {
  override readonly upSql = `
    CREATE TABLE accounts (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 100),
      plan text NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
      per_minute integer CHECK (per_minute > 0),
      per_day integer CHECK (per_day > 0),
      created_at timestamptz NOT NULL DEFAULT now(),
      -- Only Enterprise has its own limits, and always both.
      CHECK ((plan = 'enterprise') = (per_minute IS NOT NULL)),
      CHECK ((plan = 'enterprise') = (per_day IS NOT NULL))
    );
    CREATE TABLE api_keys (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      account_id bigint NOT NULL REFERENCES accounts (id),
      -- SHA-256 of the secret; the secret itself is not stored.
      secret_hash bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
      prefix text NOT NULL,
      last_four text NOT NULL CHECK (char_length(last_four) = 4),
      label text NOT NULL DEFAULT '' CHECK (char_length(label) <= 100),
      scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz,
      revoked_at timestamptz,
      banned_at timestamptz,
      banned_until timestamptz,
      -- Bans that began up to this time were lifted by hand.
      unbanned_at timestamptz,
      last_used_at timestamptz
    );
    CREATE INDEX api_keys_account_id ON api_keys (account_id);
    CREATE INDEX api_keys_banned_at ON api_keys (banned_at) WHERE banned_at IS NOT NULL;
    CREATE TABLE rotated_secrets (
      -- SHA-256 of a replaced secret.
      secret_hash bytea PRIMARY KEY CHECK (octet_length(secret_hash) = 32),
      key_id uuid NOT NULL REFERENCES api_keys (id),
      -- End of its grace period; the key may expire or be revoked earlier.
      valid_until timestamptz NOT NULL CHECK (isfinite(valid_until))
    );
    -- A rotation shortens the running grace periods of its key.
    CREATE INDEX rotated_secrets_key_id ON rotated_secrets (key_id);
    -- Bans of keys that are not in api_keys, because the authenticator of a team names them.
    CREATE TABLE external_key_bans (
      key_id text PRIMARY KEY,
      banned_at timestamptz NOT NULL,
      banned_until timestamptz NOT NULL
    );
    CREATE TABLE rate_limit_counters (
      -- Such as account:7 or ip:192.0.2.1.
      owner text PRIMARY KEY,
      minute_used integer NOT NULL CHECK (minute_used >= 0),
      minute_ends_at timestamptz NOT NULL CHECK (isfinite(minute_ends_at)),
      day_used integer NOT NULL CHECK (day_used >= 0),
      day_ends_at timestamptz NOT NULL CHECK (isfinite(day_ends_at))
    );
    CREATE TABLE rate_limit_instances (id uuid PRIMARY KEY, seen_at timestamptz NOT NULL);
    CREATE TABLE idempotency_keys (
      -- SHA-256 of account, method, path and key: short for any length of them.
      id bytea PRIMARY KEY,
      body_hash bytea NOT NULL,
      status smallint NOT NULL,
      location text,
      answer text NOT NULL,
      created_at timestamptz NOT NULL
    );
    CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at);
    CREATE TABLE extension_migrations (
      -- As in the table of migrations.
      name text PRIMARY KEY,
      extension text NOT NULL,
      up jsonb NOT NULL,
      down jsonb NOT NULL
    );
    CREATE TABLE audit_entries (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at timestamptz NOT NULL DEFAULT now(),
      command text NOT NULL,
      account text,
      key_id text,
      details text NOT NULL,
      os_user text NOT NULL
    );
    CREATE FUNCTION reject_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'audit_entries is append-only';
    END $$;
    CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE ON audit_entries
      FOR EACH STATEMENT EXECUTE FUNCTION reject_audit_change()`;
  override readonly downSql = `
    DROP TABLE accounts, api_keys, rotated_secrets, external_key_bans, rate_limit_counters, rate_limit_instances,
      idempotency_keys, extension_migrations, audit_entries;
    DROP FUNCTION reject_audit_change`;
}

/** A change over HTTP has no user of the system, but the key that made it. Extensions may have keys of their own. */
class Administration1795219200025 extends SqlMigration {
  // Version 1.1.0 reads the bans in api_keys and external_key_bans while both versions run. The version after this one
  // drops them.
  override readonly upSql = `
    ALTER TABLE extension_migrations DROP COLUMN up, DROP COLUMN down;
    -- At most one row: the prefix of all keys that the service accepts, from its first start on.
    CREATE TABLE deployment (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      key_prefix text NOT NULL
    );
    ALTER TABLE accounts ADD COLUMN disabled_at timestamptz;
    CREATE TABLE key_bans (
      -- An id of api_keys, or the text by which the authenticator of a team names a key.
      key_id text PRIMARY KEY,
      banned_until timestamptz NOT NULL
    );
    INSERT INTO key_bans
      SELECT id::text, banned_until FROM api_keys
      WHERE banned_until IS NOT NULL AND banned_at > coalesce(unbanned_at, '-infinity')
      UNION ALL SELECT key_id, banned_until FROM external_key_bans;
    DROP INDEX api_keys_banned_at;
    ALTER TABLE audit_entries
      ALTER COLUMN os_user DROP NOT NULL,
      ADD COLUMN made_by_key text,
      ADD CHECK ((os_user IS NULL) <> (made_by_key IS NULL));
    CREATE INDEX audit_entries_account_id ON audit_entries (account, id);
    ALTER TABLE api_keys
      -- Ascends in the order of creation, for pages.
      ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY,
      -- The only addresses of clients that may use the key; none: all may.
      ADD COLUMN addresses inet[] NOT NULL DEFAULT '{}' CHECK (cardinality(addresses) <= 20);
    CREATE INDEX api_keys_account_id_number ON api_keys (account_id, number);
    CREATE VIEW numbered_keys AS SELECT number AS id, id AS key_id, account_id FROM api_keys;
    DROP INDEX api_keys_account_id`;
  override readonly downSql = `
    DROP VIEW numbered_keys;
    CREATE INDEX api_keys_account_id ON api_keys (account_id);
    ALTER TABLE api_keys DROP COLUMN number, DROP COLUMN addresses;
    DROP INDEX audit_entries_account_id;
    ALTER TABLE audit_entries DISABLE TRIGGER audit_entries_append_only;
    UPDATE audit_entries SET os_user = 'key ' || made_by_key WHERE os_user IS NULL;
    ALTER TABLE audit_entries ENABLE TRIGGER audit_entries_append_only;
    ALTER TABLE audit_entries DROP COLUMN made_by_key, ALTER COLUMN os_user SET NOT NULL;
    CREATE INDEX api_keys_banned_at ON api_keys (banned_at) WHERE banned_at IS NOT NULL;
    -- Version 1.1.0 has the bans of the time before the upgrade.
    DROP TABLE key_bans, deployment;
    ALTER TABLE accounts DROP COLUMN disabled_at;
    ALTER TABLE extension_migrations
      ADD COLUMN up jsonb NOT NULL DEFAULT '[]', ADD COLUMN down jsonb NOT NULL DEFAULT '[]'`;
}

export const CORE_MIGRATIONS = [
  AccountsAndApiKeys1795219200000,
  // The first one contains these.
  class RateLimit1795219200002 extends MergedMigration {},
  class RotatedSecrets1795219200005 extends MergedMigration {},
  class ExtensionMigrations1795219200006 extends MergedMigration {},
  class ExternalKeyBans1795219200007 extends MergedMigration {},
  class Audit1795219200012 extends MergedMigration {},
  Administration1795219200025,
] as const;
