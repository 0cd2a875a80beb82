import { createDatabase, type TestDatabase } from './database';

const MINUTE_MS = 60_000;

/** Hides the function by which each session of the service sets its timeouts. */
const SET_PATIENTLY = `
  CREATE FUNCTION set_config(name text, value text, is_local boolean) RETURNS text LANGUAGE sql AS $$
    SELECT pg_catalog.set_config(name, CASE
      WHEN name IN ('lock_timeout', 'statement_timeout') AND value <> '0' THEN '${MINUTE_MS}' ELSE value END, is_local) $$;
  DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`;

/** Creates a database whose statements and locks the service awaits for a minute: a spec that holds a lock may be slow. */
export async function createPatientDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  await database.query(SET_PATIENTLY);
  const url = new URL(database.url);
  url.searchParams.set('query_timeout', String(MINUTE_MS));
  return { ...database, url: url.href };
}
