import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../config/user-error';
import type { PlacedOptions, ServerUser } from './options';
import { type Programs, reasonOf, run } from './programs';

/** PostgreSQL's own superuser. `pg_hba.conf` rejects its connections. */
export const SUPERUSER = 'postgres';
/** The role of every connection. It owns the database; without superuser rights, its SQL runs no programs. */
export const APP_ROLE = 'app';

const INITDB_ARGS = `-U ${SUPERUSER} -A trust -E UTF8 --locale-provider=builtin --locale=C.UTF-8 --lc-messages=C`;

/** Returns the folder of PostgreSQL's own files within the data folder. Each major version has its own. */
export function clusterOf(directory: string): string {
  return join(directory, 'pg18');
}

/** Creates the data folder, or makes an empty or earlier one private to the server's user. */
export function prepareFolder(directory: string, user: ServerUser | undefined): void {
  mkdirSync(directory, { recursive: true });
  const { uid, mode } = statSync(directory);
  const isOwn = uid === (user?.uid ?? process.getuid?.()) || (user !== undefined && uid === 0);
  // A volume of a container often belongs to root and admits the service by its group.
  if (!isOwn && uid === 0 && (mode & 0o002) === 0) return;
  const names = readdirSync(directory).filter((name) => name !== 'lost+found');
  const isEmpty = names.length === 0;
  // As root, DATA_DIR=/etc would otherwise close /etc to its users.
  if (!isOwn || !(isEmpty || names.some((name) => /^(pg\d+|init-.*|postgres\.log)$/.test(name)))) {
    throw new UserError(
      `The folder ${directory} belongs to another user or holds other files: start the service as its owner, or set DATA_DIR to a new or an empty folder.`,
    );
  }
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  chmodSync(directory, 0o700);
}

/** Creates PostgreSQL's files if they do not exist. Of concurrent starts, the first to rename its draft wins. */
export async function createCluster(
  { directory, durable = true }: PlacedOptions,
  { bin, context }: Programs,
): Promise<void> {
  const cluster = clusterOf(directory);
  if (existsSync(cluster)) return;
  const draft = join(directory, `init-${randomUUID()}`);
  const initdb = (...args: string[]) => run(join(bin, 'initdb'), ['-D', draft, ...args], context);
  // In single-user mode each line is a statement.
  const single = ['--single', '-D', draft, '-c', 'exit_on_error=on', '-c', 'fsync=off', 'postgres'];
  const statements = `CREATE ROLE ${APP_ROLE} LOGIN ${durable ? '' : 'CREATEDB'}
ALTER DATABASE postgres OWNER TO ${APP_ROLE}
DO $$ BEGIN EXECUTE format('COPY (SELECT %L) TO %L', 'local all ${APP_ROLE} trust', current_setting('hba_file')); END $$
`;
  try {
    await initdb('--no-sync', ...INITDB_ARGS.split(' '));
    await run(join(bin, 'postgres'), single, context, statements);
    if (durable) await initdb('--sync-only');
    renameSync(draft, cluster);
    // If a power cut lost the name, the next start would create an empty database.
    if (durable) await run('/bin/sync', [directory], context);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (existsSync(cluster)) return;
    throw new UserError(
      `PostgreSQL could not create its files in ${directory} (${reasonOf(error)}): fix that, set DATA_DIR to another folder, or set DATABASE_URL.`,
    );
  }
}
