import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = `
  CREATE TABLE events (
    -- The number of the transaction, or of an earlier event's, then 22 bits of a sequence (decision 35).
    id bigint PRIMARY KEY,
    -- Of an order, the account that placed it; null for an animal.
    account_id bigint,
    type text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- JSON, as the response of the change had it.
    data text NOT NULL
  );
  CREATE SEQUENCE event_positions_seq MAXVALUE ${(1 << 22) - 1} CYCLE;
  CREATE INDEX events_type_id ON events (type, id);
  CREATE INDEX events_account_id_type_id ON events (account_id, type, id) WHERE account_id IS NOT NULL;
  CREATE TABLE event_log (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The PostgreSQL cluster that numbers the transactions, and what is added to their numbers.
    cluster text NOT NULL,
    shift bigint NOT NULL DEFAULT 0,
    -- Events up to this id were deleted.
    removed_to bigint NOT NULL DEFAULT 0
  );
  -- The timeline changes if a standby takes over, or if the server is restored to an earlier time.
  CREATE FUNCTION event_cluster() RETURNS text LANGUAGE sql STABLE
    RETURN (SELECT system_identifier || '/' || timeline_id FROM pg_control_system(), pg_control_checkpoint());
  INSERT INTO event_log (cluster) VALUES (event_cluster())`;

const NUMBERS = `
  -- A lower bound of the ids of a transaction's events, and an upper bound for earlier transactions.
  CREATE FUNCTION event_id_of(xid8) RETURNS bigint LANGUAGE sql STABLE
    RETURN (SELECT $1::text::bigint + shift << 22 FROM event_log);

  -- The id after which the events of a change follow. A transaction that has changed a row before this one has an event
  -- already, but may have a higher number.
  CREATE FUNCTION newest_event_id() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN (
      SELECT coalesce((SELECT max(id) FROM events WHERE id > own), own) FROM event_id_of(pg_current_xact_id()) AS own
    );`;

const PET_DATA = 'pet_data(changed.id, changed.name, changed.category_id, changed.status)';
const ORDER_DATA =
  'order_data(changed.id, changed.pet_id, changed.status, changed.placed_at, changed.updated_at, changed.expires_at)';

/** Writes the events of changed rows, in the order of their ids. The sequence begins again after 2^22 - 1. */
const inserted = (accountId: string, type: string, data: string, rows: string) => `
      INSERT INTO events (id, account_id, type, data)
      SELECT next + CASE WHEN next > newest THEN 0 ELSE 1 << 22 END, account_id, type, data FROM (
        SELECT (newest >> 22 << 22) + nextval('event_positions_seq') AS next, * FROM (
          SELECT ${accountId} AS account_id, ${type} AS type, ${data} AS data FROM ${rows} ORDER BY changed.id
        ) AS sorted
      ) AS numbered;`;

const functions = (schema: string) => `
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

  -- The session of a change, its user, search_path and temporary tables have no effect on the events.
  -- \`changed\` has the rows after a statement, or those that it removed; \`previous\` has those before an UPDATE.
  CREATE FUNCTION record_pet_events() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    newest bigint := newest_event_id();
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN NULL; END IF;
    IF TG_OP = 'TRUNCATE' THEN
      DELETE FROM pets;
    ELSIF TG_OP = 'UPDATE' THEN
      ${inserted('NULL::bigint', "'pet.updated'", PET_DATA, 'changed JOIN previous USING (id) WHERE changed IS DISTINCT FROM previous')}
    ELSE
      ${inserted('NULL::bigint', "CASE TG_OP WHEN 'INSERT' THEN 'pet.created' ELSE 'pet.deleted' END", PET_DATA, 'changed')}
    END IF;
    RETURN NULL;
  END $$;

  CREATE FUNCTION record_order_events() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    newest bigint := newest_event_id();
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN NULL; END IF;
    IF TG_OP = 'UPDATE' THEN
      ${inserted('changed.account_id', "'order.' || changed.status", ORDER_DATA, 'changed JOIN previous USING (id) WHERE changed.status <> previous.status')}
    ELSE
      ${inserted('changed.account_id', "'order.' || changed.status", ORDER_DATA, 'changed')}
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
  'CREATE TRIGGER record_truncate BEFORE TRUNCATE ON pets FOR EACH STATEMENT EXECUTE FUNCTION record_pet_events()',
].join('');

export class Events1795219200030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ schema } = { schema: '' }]: { schema: string }[] = await runner.query(
      'SELECT quote_ident(current_schema()) AS schema',
    );
    for (const statements of [TABLES, NUMBERS, functions(schema), TRIGGERS]) await runner.query(statements);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION record_pet_events, record_order_events CASCADE;
      DROP FUNCTION pet_data, order_data, event_time, newest_event_id, event_id_of, event_cluster;
      DROP SEQUENCE event_positions_seq;
      DROP TABLE event_log, events`);
  }
}

export const eventsMigrations = [Events1795219200030];
