import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = `
  CREATE TABLE events (
    -- The number of the transaction, then 22 bits for the position in it (decision 35).
    id bigint PRIMARY KEY,
    -- Of an order, the account that placed it; null for an animal.
    account_id bigint,
    type text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- JSON, as the response of the change had it.
    data text NOT NULL
  );
  CREATE INDEX events_type_id ON events (type, id);
  CREATE INDEX events_account_id_type_id ON events (account_id, type, id) WHERE account_id IS NOT NULL;
  CREATE TABLE event_log (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The PostgreSQL cluster that numbers the transactions, and what is added to their numbers.
    cluster bigint NOT NULL,
    shift bigint NOT NULL DEFAULT 0,
    -- Events up to this id were deleted.
    removed_to bigint NOT NULL DEFAULT 0
  );
  INSERT INTO event_log (cluster) SELECT system_identifier FROM pg_control_system()`;

const FUNCTIONS = `
  -- A lower bound of the ids of a transaction's events, and an upper bound for earlier transactions.
  CREATE FUNCTION event_id_of(xid8) RETURNS bigint LANGUAGE sql STABLE
    RETURN (SELECT $1::text::bigint + shift << 22 FROM event_log);

  -- Reserves ids in the running transaction. Returns the one before them.
  CREATE FUNCTION reserve_event_ids(count bigint) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    used bigint := coalesce(nullif(current_setting('animal_store.events_used', true), ''), '0');
  BEGIN
    IF used + count >= 1 << 22 THEN
      RAISE program_limit_exceeded USING MESSAGE = 'a transaction can write at most 4194303 events';
    END IF;
    PERFORM set_config('animal_store.events_used', (used + count)::text, true);
    RETURN event_id_of(pg_current_xact_id()) + used;
  END $$;

  CREATE FUNCTION event_time(timestamptz) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

  CREATE FUNCTION pet_data(id bigint, name text, category_id bigint, status text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN (SELECT row_to_json(data)::text FROM (SELECT id, name, category_id AS "categoryId", status) AS data);

  CREATE FUNCTION order_data(
    id bigint, pet_id bigint, status text, placed_at timestamptz, updated_at timestamptz, expires_at timestamptz
  ) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN (SELECT row_to_json(data)::text FROM (
      SELECT id, pet_id AS "petId", status, event_time(placed_at) AS "placedAt", event_time(updated_at) AS "updatedAt",
        CASE status WHEN 'placed' THEN event_time(expires_at) END AS "expiresAt"
    ) AS data);

  -- \`changed\` has the rows after a statement, or those that it removed; \`previous\` has those before an UPDATE.
  CREATE FUNCTION record_pet_events() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    used bigint;
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN NULL; END IF;
    used := reserve_event_ids((SELECT count(*) FROM changed));
    IF TG_OP = 'UPDATE' THEN
      INSERT INTO events (id, type, data)
      SELECT used + row_number() OVER (ORDER BY changed.id), 'pet.updated', pet_data(changed.id, changed.name, changed.category_id, changed.status)
      FROM changed JOIN previous USING (id) WHERE changed IS DISTINCT FROM previous;
    ELSE
      INSERT INTO events (id, type, data)
      SELECT used + row_number() OVER (ORDER BY id),
        CASE TG_OP WHEN 'INSERT' THEN 'pet.created' ELSE 'pet.deleted' END, pet_data(changed.id, changed.name, changed.category_id, changed.status)
      FROM changed;
    END IF;
    RETURN NULL;
  END $$;

  CREATE FUNCTION record_order_events() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    used bigint;
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN NULL; END IF;
    used := reserve_event_ids((SELECT count(*) FROM changed));
    IF TG_OP = 'UPDATE' THEN
      INSERT INTO events (id, account_id, type, data)
      SELECT used + row_number() OVER (ORDER BY changed.id), changed.account_id, 'order.' || changed.status, order_data(
        changed.id, changed.pet_id, changed.status, changed.placed_at, changed.updated_at, changed.expires_at)
      FROM changed JOIN previous USING (id) WHERE changed.status <> previous.status;
    ELSE
      INSERT INTO events (id, account_id, type, data)
      SELECT used + row_number() OVER (ORDER BY id), account_id, 'order.' || status, order_data(
        changed.id, changed.pet_id, changed.status, changed.placed_at, changed.updated_at, changed.expires_at)
      FROM changed;
    END IF;
    RETURN NULL;
  END $$`;

const recorded = (table: string, recorder: string, event: string, rows: string) => `
  CREATE TRIGGER record_${event} AFTER ${event} ON ${table} REFERENCING ${rows}
    FOR EACH STATEMENT EXECUTE FUNCTION ${recorder}();`;

const TRIGGERS = [
  recorded('pets', 'record_pet_events', 'INSERT', 'NEW TABLE AS changed'),
  recorded('pets', 'record_pet_events', 'UPDATE', 'NEW TABLE AS changed OLD TABLE AS previous'),
  recorded('pets', 'record_pet_events', 'DELETE', 'OLD TABLE AS changed'),
  recorded('store_orders', 'record_order_events', 'INSERT', 'NEW TABLE AS changed'),
  recorded('store_orders', 'record_order_events', 'UPDATE', 'NEW TABLE AS changed OLD TABLE AS previous'),
].join('');

export class Events1795219200030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statements of [TABLES, FUNCTIONS, TRIGGERS]) await runner.query(statements);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION record_pet_events, record_order_events CASCADE;
      DROP FUNCTION pet_data, order_data, event_time, reserve_event_ids, event_id_of;
      DROP TABLE event_log, events`);
  }
}

export const eventsMigrations = [Events1795219200030];
