import { chownSync, constants, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Binaries } from './binaries';
import { run } from './command';
import type { ServerUser } from './server-user';

/** PostgreSQL's own superuser. `pg_hba.conf` admits no connection as it. */
export const SUPERUSER = 'postgres';
/** The role of every connection: owns the database and its tables, and is no superuser, so its SQL runs no programs. */
export const APP_ROLE = 'app';

const ADMISSION = `local all ${APP_ROLE} trust`;
/** However an administrator spaces it. */
const IS_ADMISSION = new RegExp(`^\\s*${ADMISSION.replaceAll(' ', '\\s+')}\\s*$`, 'm');
/** The server first recovers the files when the last one was killed. */
const LIMIT_SECONDS = 180;

/**
 * In data folders of earlier versions the superuser itself has the name `app` and owns everything. A role cannot rename
 * itself, hence the second superuser; `REASSIGN OWNED` rejects the first superuser of a server, hence the loop.
 */
const SEPARATE = `
DO $$
DECLARE
  change text;
  -- An administrator may have created a role of that name.
  superuser text := '${SUPERUSER}' || CASE
    WHEN EXISTS (SELECT FROM pg_roles WHERE oid <> 10 AND rolname = '${SUPERUSER}')
    THEN '_' || gen_random_uuid() ELSE '' END;
  helper text := 'renaming_' || gen_random_uuid();
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE oid = 10 AND rolname = '${APP_ROLE}') THEN
    EXECUTE format('CREATE ROLE %I SUPERUSER', helper);
    EXECUTE format('SET LOCAL SESSION AUTHORIZATION %I', helper);
    EXECUTE format('ALTER ROLE ${APP_ROLE} RENAME TO %I', superuser);
    EXECUTE format('SET LOCAL SESSION AUTHORIZATION %I', superuser);
    EXECUTE format('DROP ROLE %I', helper);
    EXECUTE format('ALTER ROLE %I IN DATABASE postgres RESET ALL', superuser);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${APP_ROLE}') THEN
    CREATE ROLE ${APP_ROLE} LOGIN;
  END IF;
  FOR change IN
    SELECT format('ALTER DATABASE %I OWNER TO ${APP_ROLE}', datname)
    FROM pg_database WHERE datdba = 10 AND NOT datistemplate
  LOOP
    EXECUTE change;
  END LOOP;
  FOR change IN
    SELECT format('ALTER %s %s OWNER TO ${APP_ROLE}', kind, name)
    FROM (
      SELECT 'pg_namespace'::regclass, oid, oid, 'SCHEMA', oid::regnamespace::text
      FROM pg_namespace WHERE nspowner = 10
      UNION ALL
      SELECT 'pg_class'::regclass, oid, relnamespace,
        CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass::text
      FROM pg_class WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      UNION ALL
      SELECT 'pg_proc'::regclass, oid, pronamespace, 'ROUTINE', oid::regprocedure::text
      FROM pg_proc WHERE proowner = 10 AND prokind <> 'a'
      UNION ALL
      SELECT 'pg_type'::regclass, oid, typnamespace, 'TYPE', oid::regtype::text
      FROM pg_type WHERE typowner = 10 AND (typtype IN ('d', 'e', 'r')
        OR EXISTS (SELECT FROM pg_class WHERE pg_class.oid = typrelid AND relkind = 'c'))
    ) AS owned (catalog, oid, namespace, kind, name)
    WHERE namespace::regnamespace::text !~ '^(pg_|information_schema$)'
      -- The parts of an extension stay with it.
      AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = catalog AND objid = owned.oid AND deptype = 'e')
    -- Tables before sequences: a table's owner is also that of the sequences of its columns, which reject another.
    ORDER BY kind DESC
  LOOP
    EXECUTE change;
  END LOOP;
END $$;

DO $$ BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', '${ADMISSION}', current_setting('hba_file'));
END $$;

`;

export interface RolesRequest {
  readonly cluster: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Gives the database to a role without superuser rights, once for each data folder. Works without connections, in
 * PostgreSQL's single-user mode, and changes `pg_hba.conf` last: a start that is killed before that repeats all of it.
 *
 * @returns what PostgreSQL printed if it failed, else undefined
 */
export async function separateRoles(request: RolesRequest): Promise<string | undefined> {
  const { cluster, binaries, user, environment } = request;
  const admissions = join(cluster, 'pg_hba.conf');
  if (areSeparate(admissions)) return undefined;
  keepOld(admissions, request);
  const { ok, output } = await run({
    file: join(binaries.bin, 'postgres'),
    // -j: a statement ends at an empty line.
    args: ['--single', '-j', '-D', cluster, '-c', 'exit_on_error=on', 'postgres'],
    user,
    environment,
    limitSeconds: LIMIT_SECONDS,
    input: SEPARATE,
  });
  return ok ? undefined : output;
}

function areSeparate(admissions: string): boolean {
  return existsSync(admissions) && IS_ADMISSION.test(readFileSync(admissions, 'utf8'));
}

/** Keeps the file of a folder that was in use, because an administrator may have changed it. */
function keepOld(admissions: string, { cluster, user }: RolesRequest): void {
  const copy = `${admissions}.before`;
  // A server writes this file at its first start.
  const wasUsed = existsSync(join(cluster, 'postmaster.opts'));
  if (!wasUsed || existsSync(copy)) return;
  copyFileSync(admissions, copy, constants.COPYFILE_EXCL);
  if (user !== undefined) chownSync(copy, user.uid, user.gid);
}
