import type { Sql } from '../database/sql';

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
