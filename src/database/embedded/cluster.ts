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

/** The folder of the server's own files within the data folder. */
export function clusterOf(directory: string): string {
  return join(directory, `pg${MAJOR}`);
}

/** Refuses data that another major version wrote: PostgreSQL 18 cannot read it. */
export function refuseOtherMajor(directory: string): void {
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

/** Creates the server's files unless they exist. Only the owner of app.lock may call it. */
export async function ensureCluster(
  directory: string,
  binaries: Binaries,
  user: ServerUser | undefined,
  durable: boolean,
): Promise<void> {
  const cluster = clusterOf(directory);
  removeUnfinished(directory);
  if (existsSync(cluster)) return;
  // Under another name until it is complete: a start that is killed half-way leaves nothing that looks like data.
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
    // The initdb of a start that was killed a moment ago still writes there: the next start removes it.
  }
}

/** The name `pg18` itself must survive a power cut, or the next start would begin with an empty database. */
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
