import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  AccountsAndApiKeys1795219200000,
  Audit1795219200012,
  RotatedSecrets1795219200005,
} from './accounts.migrations';

export class RateLimit1795219200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE rate_limit_counters (
        -- Such as account:7 or ip:192.0.2.1.
        owner text PRIMARY KEY,
        minute_used integer NOT NULL CHECK (minute_used >= 0),
        minute_ends_at timestamptz NOT NULL CHECK (isfinite(minute_ends_at)),
        day_used integer NOT NULL CHECK (day_used >= 0),
        day_ends_at timestamptz NOT NULL CHECK (isfinite(day_ends_at))
      )`);
    await runner.query(`
      CREATE TABLE rate_limit_instances (
        id uuid PRIMARY KEY,
        seen_at timestamptz NOT NULL
      )`);
    await runner.query(`
      ALTER TABLE api_keys
        ADD COLUMN banned_at timestamptz,
        ADD COLUMN banned_until timestamptz,
        -- Bans that began up to this time were lifted by hand.
        ADD COLUMN unbanned_at timestamptz,
        ADD COLUMN last_used_at timestamptz`);
    await runner.query('CREATE INDEX api_keys_banned_at ON api_keys (banned_at) WHERE banned_at IS NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_keys
        DROP COLUMN banned_at, DROP COLUMN banned_until, DROP COLUMN unbanned_at, DROP COLUMN last_used_at`);
    await runner.query('DROP TABLE rate_limit_instances');
    await runner.query('DROP TABLE rate_limit_counters');
  }
}

export class ExtensionMigrations1795219200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE extension_migrations (
        -- As in the table of migrations.
        name text PRIMARY KEY,
        extension text NOT NULL,
        -- The statements that apply and revert it, if the code of the extension is removed.
        up jsonb NOT NULL,
        down jsonb NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE extension_migrations');
  }
}

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

/** Earlier versions recorded the statements of each migration. */
export class ExtensionOwners1795219200013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE extension_migrations DROP COLUMN up, DROP COLUMN down');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE extension_migrations
        ADD COLUMN up jsonb NOT NULL DEFAULT '[]', ADD COLUMN down jsonb NOT NULL DEFAULT '[]'`);
  }
}

export class KeyBans1795219200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE key_bans (
        -- An id of api_keys, or the text by which the authenticator of a team names a key.
        key_id text PRIMARY KEY,
        banned_at timestamptz NOT NULL,
        banned_until timestamptz NOT NULL
      );
      INSERT INTO key_bans
        SELECT id::text, banned_at, banned_until FROM api_keys
        WHERE banned_until IS NOT NULL AND banned_at > coalesce(unbanned_at, '-infinity')
        UNION ALL SELECT key_id, banned_at, banned_until FROM external_key_bans;
      DROP TABLE external_key_bans;
      ALTER TABLE api_keys DROP COLUMN banned_at, DROP COLUMN banned_until, DROP COLUMN unbanned_at`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_keys
        ADD COLUMN banned_at timestamptz, ADD COLUMN banned_until timestamptz, ADD COLUMN unbanned_at timestamptz;
      CREATE INDEX api_keys_banned_at ON api_keys (banned_at) WHERE banned_at IS NOT NULL;
      UPDATE api_keys k SET banned_at = b.banned_at, banned_until = b.banned_until
        FROM key_bans b WHERE b.key_id = k.id::text;
      CREATE TABLE external_key_bans (
        key_id text PRIMARY KEY, banned_at timestamptz NOT NULL, banned_until timestamptz NOT NULL
      );
      INSERT INTO external_key_bans SELECT * FROM key_bans b
        WHERE NOT EXISTS (SELECT FROM api_keys k WHERE k.id::text = b.key_id);
      DROP TABLE key_bans`);
  }
}

export class DeploymentAndDisabledAccounts1795219200015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- At most one row: the prefix of all keys that the service accepts, from its first start on.
      CREATE TABLE deployment (
        is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
        key_prefix text NOT NULL
      );
      ALTER TABLE accounts ADD COLUMN disabled_at timestamptz`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE deployment; ALTER TABLE accounts DROP COLUMN disabled_at');
  }
}

/** The migrations that belong to no extension. */
export const coreMigrations = [
  AccountsAndApiKeys1795219200000,
  RateLimit1795219200002,
  RotatedSecrets1795219200005,
  ExtensionMigrations1795219200006,
  ExternalKeyBans1795219200007,
  Audit1795219200012,
  ExtensionOwners1795219200013,
  KeyBans1795219200014,
  DeploymentAndDisabledAccounts1795219200015,
] as const;
