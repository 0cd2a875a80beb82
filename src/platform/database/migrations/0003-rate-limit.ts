import type { MigrationInterface, QueryRunner } from 'typeorm';

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
