import { chownSync, constants, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Binaries } from './binaries';
import { run } from './command';
import type { ServerUser } from './server-user';

/** PostgreSQL's own superuser. `pg_hba.conf` rejects its connections. */
export const SUPERUSER = 'postgres';
/** The role of every connection. It owns the database and its tables; without superuser rights, its SQL runs no programs. */
export const APP_ROLE = 'app';

const ADMISSION = `local all ${APP_ROLE} trust`;
/** An administrator may have changed the white space of the line. */
const IS_ADMISSION = new RegExp(`^\\s*${ADMISSION.replaceAll(' ', '\\s+')}\\s*$`, 'm');
/** Includes the recovery of the files after a crash. */
const LIMIT_SECONDS = 180;

/**
 * Makes `app` an ordinary role that owns everything. In data folders of earlier versions `app` is the superuser.
 * A role cannot rename itself, hence the second superuser. `REASSIGN OWNED` rejects the first superuser of a server,
 * hence the loop.
 */
const SEPARATE = `
DO $$
DECLARE
  change text;
  -- An administrator may have created a role with that name.
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
      -- The objects of an extension keep their owner.
      AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = catalog AND objid = owned.oid AND deptype = 'e')
    -- Tables before sequences: a column's sequence must have the owner of its table.
    ORDER BY kind DESC
  LOOP
    EXECUTE change;
  END LOOP;
END $$;

`;

const ALLOW_DATABASES = `
ALTER ROLE ${APP_ROLE} CREATEDB;

`;

const ADMIT = `
DO $$ BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', '${ADMISSION}', current_setting('hba_file'));
END $$;

`;

export interface RolesRequest {
  readonly cluster: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** True gives the role the right to create databases. */
  readonly canCreateDatabases: boolean;
}

/**
 * Makes a role without superuser rights the owner of the database, once for each data folder. Runs in PostgreSQL's
 * single-user mode, without connections. Changes `pg_hba.conf` last: if the process is killed before, the next start
 * repeats every step.
 *
 * @returns what PostgreSQL printed if it failed, else undefined
 */
export async function separateRoles(request: RolesRequest): Promise<string | undefined> {
  const { cluster, binaries, user, environment, canCreateDatabases } = request;
  const admissions = join(cluster, 'pg_hba.conf');
  if (areSeparate(admissions)) return undefined;
  keepOld(admissions, request);
  const { ok, output } = await run({
    file: join(binaries.bin, 'postgres'),
    // With -j an empty line ends a statement.
    args: ['--single', '-j', '-D', cluster, '-c', 'exit_on_error=on', 'postgres'],
    user,
    environment,
    limitSeconds: LIMIT_SECONDS,
    input: `${SEPARATE}${canCreateDatabases ? ALLOW_DATABASES : ''}${ADMIT}`,
  });
  return ok ? undefined : output;
}

function areSeparate(admissions: string): boolean {
  return existsSync(admissions) && IS_ADMISSION.test(readFileSync(admissions, 'utf8'));
}

/** Copies the old file if the folder was in use, because an administrator may have changed it. */
function keepOld(admissions: string, { cluster, user }: RolesRequest): void {
  const copy = `${admissions}.before`;
  // A server creates this file at its first start.
  const wasUsed = existsSync(join(cluster, 'postmaster.opts'));
  if (!wasUsed || existsSync(copy)) return;
  copyFileSync(admissions, copy, constants.COPYFILE_EXCL);
  if (user !== undefined) chownSync(copy, user.uid, user.gid);
}
