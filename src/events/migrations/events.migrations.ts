import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MergedMigration } from '../../database/migrations/sql-migration';

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
  -- The timeline changes if a standby takes over, or if the server is restored to an earlier time. A server that does not
  -- tell it, such as Aurora, counts as another one after each of its starts.
  CREATE FUNCTION event_cluster() RETURNS text LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN (SELECT system_identifier || '/' || timeline_id FROM pg_control_system(), pg_control_checkpoint());
  EXCEPTION WHEN OTHERS THEN
    RETURN 'start ' || extract(epoch FROM pg_postmaster_start_time());
  END $$;
  INSERT INTO event_log (cluster) VALUES (event_cluster())`;

/** A lower bound of the ids of a transaction's events, and an upper bound for earlier transactions. */
const idOf = (transaction: string) => `(SELECT ${transaction}::text::bigint + shift << 22 FROM event_log)`;

const time = (column: string) =>
  `'"' || to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;

/** A JSON object. Joining texts takes half the time of row_to_json(). */
const object = (members: Readonly<Record<string, string>>) =>
  `'{' || ${Object.entries(members)
    .map(([name, json]) => `'"${name}":' || ${json}`)
    .join(` || ',' || `)} || '}'`;

const PET_DATA = object({
  id: 'changed.id',
  name: 'to_json(changed.name)',
  categoryId: 'changed.category_id',
  status: 'to_json(changed.status)',
});

const ORDER_DATA = object({
  id: 'changed.id',
  petId: 'changed.pet_id',
  status: 'to_json(changed.status)',
  placedAt: time('changed.placed_at'),
  updatedAt: time('changed.updated_at'),
  expiresAt: `coalesce(CASE changed.status WHEN 'placed' THEN ${time('changed.expires_at')} END, 'null')`,
});

/**
 * The id after which the events of a change follow. A transaction that has changed a row before this one has an event
 * already, but may have a higher number.
 */
const NEWEST = `greatest((SELECT max(id) FROM events), ${idOf('pg_current_xact_id()')})`;

/** Writes the events of changed rows, in the order of their ids. The sequence begins again after 2^22 - 1. */
const inserted = (accountId: string, type: string, data: string, rows: string) => `
      INSERT INTO events (id, account_id, type, data)
      SELECT next + CASE WHEN next > newest THEN 0 ELSE 1 << 22 END, account_id, type, data FROM (
        SELECT (newest >> 22 << 22) + nextval('event_positions_seq') AS next, * FROM (
          SELECT ${accountId} AS account_id, ${type} AS type, ${data} AS data FROM ${rows} ORDER BY changed.id
        ) AS sorted
      ) AS numbered;`;

/**
 * The session of a change, its user, search_path and temporary tables have no effect on the events. `changed` has the rows
 * after a statement, or those that it removed; `previous` has those before an UPDATE.
 */
const petRecorder = (schema: string, data: string) => `
  FUNCTION record_pet_events() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    newest bigint;
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN NULL; END IF;
    newest := ${NEWEST};
    IF TG_OP = 'TRUNCATE' THEN
      DELETE FROM pets;
    ELSIF TG_OP = 'UPDATE' THEN
      ${inserted('NULL::bigint', "'pet.updated'", data, 'changed JOIN previous USING (id) WHERE changed IS DISTINCT FROM previous')}
    ELSE
      ${inserted('NULL::bigint', "CASE TG_OP WHEN 'INSERT' THEN 'pet.created' ELSE 'pet.deleted' END", data, 'changed')}
    END IF;
    RETURN NULL;
  END $$;`;

const functions = (schema: string) => `
  CREATE FUNCTION event_id_of(xid8) RETURNS bigint LANGUAGE sql STABLE RETURN ${idOf('$1')};
  CREATE ${petRecorder(schema, PET_DATA)}

  CREATE FUNCTION record_order_events() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
  DECLARE
    newest bigint;
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN NULL; END IF;
    newest := ${NEWEST};
    IF TG_OP = 'UPDATE' THEN
      ${inserted('changed.account_id', "'order.' || changed.status", ORDER_DATA, 'changed JOIN previous USING (id) WHERE changed.status <> previous.status')}
    ELSE
      ${inserted('changed.account_id', "'order.' || changed.status", ORDER_DATA, 'changed')}
    END IF;
    RETURN NULL;
  END $$;
  -- As triggers of its own table, any role could write events by them.
  REVOKE ALL ON FUNCTION record_pet_events, record_order_events FROM PUBLIC;

  -- Extensions write events by it. New numbers wait for its transaction, as for a change of an animal.
  CREATE FUNCTION record_event(account bigint, kind text, body text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    newest bigint;
  BEGIN
    IF current_setting('animal_store.events', true) = 'off' THEN RETURN; END IF;
    LOCK TABLE pets IN ROW EXCLUSIVE MODE;
    newest := ${NEWEST};
    ${inserted('account', 'kind', 'body', '(SELECT 1 AS id) AS changed')}
  END $$`;

const recorded = (table: string, recorder: string, event: string, rows: string) =>
  `CREATE TRIGGER record_${event.toLowerCase()} AFTER ${event} ON ${table} REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ${recorder}()`;

const EVENT_TRIGGERS = [
  recorded('pets', 'record_pet_events', 'INSERT', 'NEW TABLE AS changed'),
  recorded('pets', 'record_pet_events', 'UPDATE', 'NEW TABLE AS changed OLD TABLE AS previous'),
  recorded('pets', 'record_pet_events', 'DELETE', 'OLD TABLE AS changed'),
  recorded('store_orders', 'record_order_events', 'INSERT', 'NEW TABLE AS changed'),
  recorded('store_orders', 'record_order_events', 'UPDATE', 'NEW TABLE AS changed OLD TABLE AS previous'),
  'CREATE TRIGGER record_truncate BEFORE TRUNCATE ON pets FOR EACH STATEMENT EXECUTE FUNCTION record_pet_events()',
];

async function schemaOf(runner: QueryRunner): Promise<string> {
  const [row]: { schema: string }[] = await runner.query('SELECT quote_ident(current_schema()) AS schema');
  return row?.schema ?? '';
}

export class Events1795219200030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const schema = await schemaOf(runner);
    for (const statements of [TABLES, functions(schema), ...EVENT_TRIGGERS]) await runner.query(statements);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION record_pet_events, record_order_events CASCADE;
      DROP FUNCTION record_event, event_id_of, event_cluster;
      DROP SEQUENCE event_positions_seq;
      DROP TABLE event_log, events`);
  }
}

export class HostedServers1795219200070 extends MergedMigration {}

/** The migration of a new member of an animal replaces `pet_data`. PostgreSQL puts its expression in place of the call. */
export class PetData1795219200080 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const recorder = petRecorder(await schemaOf(runner), 'pet_data(changed)');
    await runner.query(`
      CREATE FUNCTION pet_data(changed pets) RETURNS text LANGUAGE sql STABLE RETURN ${PET_DATA};
      CREATE OR REPLACE ${recorder}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    const recorder = petRecorder(await schemaOf(runner), PET_DATA);
    await runner.query(`CREATE OR REPLACE ${recorder} DROP FUNCTION pet_data`);
  }
}
