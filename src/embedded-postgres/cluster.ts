import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { MAJOR, type Binaries } from './binaries';
import { lastLine, run } from './command';
import { diskFull, EmbeddedServerError } from './errors';
import { SUPERUSER } from './roles';
import type { ServerUser } from './server-user';

const INITDB_LIMIT_SECONDS = 180;

const INITDB_ARGS =
  `-U ${SUPERUSER} -A trust -E UTF8 --locale-provider=builtin --locale=C.UTF-8 --lc-messages=C --no-instructions`.split(
    ' ',
  );

/** Returns the folder of the server's own files within the data folder. */
export function clusterOf(directory: string): string {
  return join(directory, `pg${MAJOR}`);
}

/** Throws if another major version wrote the data: PostgreSQL 18 cannot read it. */
export function requireMajor(directory: string): void {
  const cluster = clusterOf(directory);
  const versionFile = join(cluster, 'PG_VERSION');
  const found = existsSync(versionFile)
    ? readFileSync(versionFile, 'utf8').trim()
    : existsSync(cluster)
      ? String(MAJOR)
      : readdirSync(directory)
          .find((name) => /^pg\d+$/.test(name))
          ?.slice(2);
  if (found === undefined || found === String(MAJOR)) return;
  throw new EmbeddedServerError(
    `The folder ${directory} holds data of PostgreSQL ${found}, which PostgreSQL ${MAJOR} cannot read: set DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL ${found} server that runs this data.`,
  );
}

/** Creates the server's files if they do not exist. The caller must hold app.lock. */
export async function ensureCluster(
  directory: string,
  binaries: Binaries,
  user: ServerUser | undefined,
  durable: boolean,
): Promise<void> {
  const cluster = clusterOf(directory);
  removeUnfinished(directory);
  if (existsSync(cluster)) return;
  // The folder has another name until it is complete, so that a killed start leaves no incomplete `pg18`.
  const draft = join(directory, `init-${process.pid}`);
  const { ok, output } = await run({
    file: join(binaries.bin, 'initdb'),
    args: ['-D', draft, ...INITDB_ARGS, ...(durable ? [] : ['--no-sync'])],
    user,
    environment: binaries.environment,
    limitSeconds: INITDB_LIMIT_SECONDS,
  });
  if (!ok) {
    removeDraft(draft);
    throw initFailed(directory, output);
  }
  renameSync(draft, cluster);
  if (durable) syncFolder(directory);
}

function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (/^init-\d+$/.test(name)) removeDraft(join(directory, name));
  }
}

function removeDraft(draft: string): void {
  try {
    rmSync(draft, { recursive: true, force: true });
  } catch {
    // The initdb of a killed start may still write to this folder. The next start removes it.
  }
}

/** Makes the name `pg18` durable: if a power cut lost it, the next start would create an empty database. */
function syncFolder(directory: string): void {
  const folder = openSync(directory, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function initFailed(directory: string, output: string): EmbeddedServerError {
  if (output.includes('No space left on device')) return new EmbeddedServerError(diskFull(directory));
  const reason = /(?:FATAL|error):\s*(.+)/.exec(output)?.[1] ?? lastLine(output);
  return new EmbeddedServerError(
    `PostgreSQL could not create its files in ${directory} (${reason}): fix that, or set DATA_DIR to another folder.`,
  );
}
