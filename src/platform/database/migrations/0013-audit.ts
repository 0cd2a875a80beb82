import type { MigrationInterface, QueryRunner } from 'typeorm';

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
