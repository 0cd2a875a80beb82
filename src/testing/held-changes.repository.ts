import { DataSource } from 'typeorm';
import type { TestStore } from './test-store';

/** Makes each lock and change of a row wait, and no SELECT. It waits for no transaction, which could be a deadlock. */
const HOLD = `DO $$ BEGIN LOOP BEGIN
  EXECUTE (SELECT 'LOCK ' || string_agg(oid::regclass::text, ',') || ' IN EXCLUSIVE MODE NOWAIT'
    FROM pg_class WHERE relkind = 'r' AND relnamespace = quote_ident(current_schema())::regnamespace);
  RETURN; EXCEPTION WHEN lock_not_available THEN END; END LOOP; END $$`;
const COUNT_WAITING = `SELECT count(*) FROM pg_locks JOIN pg_database ON database = pg_database.oid
  WHERE datname = current_database() AND NOT granted`;

/** Sends requests. Each waits at its first lock or change of a row until all others do. */
export async function sendTogether<R>(store: TestStore, all: readonly (() => Promise<R>)[]): Promise<R[]> {
  const sent = await store.app.get(DataSource, { strict: false }).transaction(async (holder) => {
    // On a busy machine the tables are rarely free together.
    await holder.query(`SET LOCAL statement_timeout = '60s'`);
    await holder.query(HOLD);
    let settled = 0;
    const promises = all.map((send) => send().finally(() => (settled += 1)));
    while (settled + Number((await holder.query(COUNT_WAITING))[0].count) < all.length);
    return promises;
  });
  return Promise.all(sent);
}
