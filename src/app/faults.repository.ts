import { EVENT_TRIGGERS } from '../events';
import { RESET_REPLICA, unfired } from '../database/database-errors';
import type { Sql } from '../database/sql';

/** The tables of the store. Those of an extension are its own matter. */
const TABLES = `accounts api_keys audit_entries deployment event_log events extension_migrations external_key_bans
  idempotency_keys key_bans key_usage migrations pets
  rate_limit_counters rate_limit_instances rotated_secrets store_orders webhook_attempts webhooks`;

/**
 * Lists statements that make the database do what it confirms. A foreign key is a pair of internal triggers. A pooler that
 * begins transactions of its own begins one for the UPDATE.
 */
const FIND_FAULTS = `
  WITH tried AS (UPDATE migrations SET name = name WHERE false), store AS (
    SELECT c.oid, c.oid::regclass AS name FROM pg_class c JOIN pg_class m USING (relnamespace)
    WHERE m.oid = to_regclass('migrations') AND c.relname = ANY (regexp_split_to_array('${TABLES}', '\\s+'))
  )
  SELECT '${RESET_REPLICA}' AS fix WHERE current_setting('session_replication_role') = 'replica'
  UNION ALL
  SELECT format('ALTER TABLE %s ENABLE TRIGGER %s', name, CASE WHEN bool_or(tgisinternal) THEN 'ALL' ELSE 'USER' END)
  FROM store JOIN pg_trigger ON tgrelid = store.oid WHERE tgenabled IN ('D', 'R') GROUP BY name
  UNION ALL
  SELECT format('DROP RULE %I ON %s', rulename, name)
  FROM store JOIN pg_rewrite ON ev_class = store.oid WHERE is_instead AND ev_enabled <> 'D'
  UNION ALL
  SELECT format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', name) FROM store WHERE row_security_active(oid)
  UNION ALL
  SELECT statement FROM unnest($1::text[]) AS statement WHERE NOT EXISTS (
    SELECT FROM pg_trigger WHERE tgname = substring(statement FROM 'TRIGGER (\\w+)')
      AND tgrelid = to_regclass(substring(statement FROM ' ON (\\w+)')))`;

/** @throws UserError if changes would lack their events, or foreign keys would not be checked */
export async function rejectFaults(sql: Sql): Promise<void> {
  const faults = await sql.rows<{ fix: string }>(FIND_FAULTS, [EVENT_TRIGGERS]);
  if (faults.length > 0) throw unfired(faults.map(({ fix }) => fix).join('; '));
}
