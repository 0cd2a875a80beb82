import { unfired } from '../database/database-errors';
import type { Sql } from '../database/sql';

/** The tables of the store that have triggers. Those of an extension are its own matter. */
const TABLES =
  '{accounts,api_keys,audit_entries,pets,rotated_secrets,store_orders,webhook_attempts,webhooks}';

/** Lists the statements that make triggers fire; null for all of them. A foreign key is a pair of internal triggers. */
const FIND_SILENT_TRIGGERS = `
  WITH tried AS (UPDATE migrations SET name = name WHERE false)
  SELECT NULL AS fix WHERE current_setting('session_replication_role') = 'replica'
  UNION ALL
  SELECT format('ALTER TABLE %s ENABLE TRIGGER %s', tgrelid::regclass, CASE WHEN bool_or(tgisinternal) THEN 'ALL' ELSE 'USER' END)
  FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE tgenabled IN ('D', 'R') AND relname = ANY ('${TABLES}')
    AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations'))
  GROUP BY tgrelid`;

/**
 * Checks that triggers fire. The UPDATE shows a pooler that begins transactions of its own.
 *
 * @throws UserError if changes would lack their events, or foreign keys would not be checked
 */
export async function requireTriggers(sql: Sql): Promise<void> {
  const silent = await sql.rows<{ fix: string | null }>(FIND_SILENT_TRIGGERS, []);
  if (silent.length > 0) throw unfired(silent.map(({ fix }) => fix));
}

/**
 * Names the roles that may change tables of the store, each with one of them. Owners, their members, superusers and
 * administrators of a hosted server are left out (decision 41).
 */
const WRITERS = `
  WITH granted AS (
    SELECT relowner AS owner, relname AS name, grantee, privilege_type AS privilege FROM pg_class
    LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attacl IS NOT NULL,
    LATERAL (SELECT * FROM aclexplode(relacl) UNION SELECT * FROM aclexplode(attacl)) AS acl
    WHERE relnamespace = quote_ident(current_schema())::regnamespace
      AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
    UNION ALL SELECT proowner, proname, grantee, privilege_type
    FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE pronamespace = quote_ident(current_schema())::regnamespace AND prosecdef AND prorettype = 'trigger'::regtype
    UNION ALL SELECT nspowner, nspname, grantee, privilege_type FROM pg_namespace, aclexplode(nspacl)
    WHERE nspname = current_schema()
    UNION ALL SELECT relowner, 'all', pg_roles.oid, 'UPDATE' FROM pg_class, pg_roles
    WHERE pg_class.oid = 'migrations'::regclass AND rolname = 'pg_write_all_data'
  ), holders AS MATERIALIZED (
    SELECT owner, grantee, min(name) AS name FROM granted
    WHERE privilege NOT IN ('SELECT', 'USAGE', 'MAINTAIN') GROUP BY 1, 2
  ), roles AS (
    SELECT coalesce(rolname, 'PUBLIC') AS role, min(name) AS name
    FROM holders LEFT JOIN pg_roles ON NOT rolsuper AND pg_has_role(pg_roles.oid, grantee, 'USAGE')
    WHERE grantee = 0 OR NOT pg_has_role(pg_roles.oid, owner, 'MEMBER')
      AND NOT pg_has_role(pg_roles.oid, current_user, 'MEMBER') AND (name <> 'all' OR rolcanlogin AND NOT rolcreaterole)
    GROUP BY 1
  )
  SELECT string_agg(format('%s (%s)', role, name), ', ' ORDER BY role) AS names FROM roles HAVING count(*) > 0`;

/** Returns one row or none. */
export function writersOf(sql: Sql): Promise<{ names: string }[]> {
  return sql.rows(WRITERS, []);
}
