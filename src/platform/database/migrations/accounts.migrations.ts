import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AccountsAndApiKeys1795219200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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
      )`);
    await runner.query(`
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
        revoked_at timestamptz
      )`);
    await runner.query('CREATE INDEX api_keys_account_id ON api_keys (account_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE api_keys');
    await runner.query('DROP TABLE accounts');
  }
}

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

export class Audit1795219200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
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
        FOR EACH STATEMENT EXECUTE FUNCTION reject_audit_change()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_entries; DROP FUNCTION reject_audit_change()');
  }
}
