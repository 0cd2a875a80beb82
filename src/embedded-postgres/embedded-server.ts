import { findBinaries } from './binaries';
import { ensureCluster, requireMajor } from './cluster';
import { locateData, prepareData, type Place } from './data-directory';
import { EmbeddedServerError, explainFolder } from './errors';
import { takeAppLock } from './lock';
import type { Purpose } from './lock-file';
import { startServer, stopServer } from './server';
import type { ServerProcess } from './server-process';
import { chooseServerUser, isSharedUser, type ServerUser } from './server-user';
import { connectionUrl, prepareSocketDirectory, removeSocketDirectory } from './socket-directory';

/** Each connection takes memory of the server. One process holds fewer: see `open-database.ts`. */
const MAX_CONNECTIONS = 60;

export interface EmbeddedOptions {
  /** The setting DATA_DIR. */
  readonly dataDir: string;
  /**
   * False if dataDir is the default (`.data`). If root's server user cannot reach that, the data is in
   * /var/lib/animal-store/<hash of the project path>.
   */
  readonly dataDirIsExplicit: boolean;
  /** EMBEDDED_PG_BIN: another PostgreSQL 18 bin folder, or undefined. */
  readonly binDir: string | undefined;
  /** True if the user `nobody` may run the server in place of root; other programs run as `nobody` too. Default true. */
  readonly allowSharedUser?: boolean;
  /** False turns fsync off, in tests only. Default true. */
  readonly durable?: boolean;
  /** True lets the service's role create databases, in tests only. It counts when the folder is created. Default false. */
  readonly canCreateDatabases?: boolean;
  /** Tests need more, because their workers share one server. Default 60. */
  readonly maxConnections?: number;
  /** Other processes wait for a command and do not join its server. Default service. */
  readonly purpose?: Purpose;
}

export interface EmbeddedServer {
  /** Absolute path of the data folder in use. */
  readonly directory: string;
  /** Returns a URL for node-postgres and libpq. Default database: `postgres`. */
  url(database?: string): string;
  /** Sentences to print for the operator. */
  readonly notices: readonly string[];
  /** Resolves when the server has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Stops the server and releases the lock. Close all connections first. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts the server of dataDir and holds the folder's lock. The first start creates the server's files. The server
 * stops when this process ends for any reason, SIGKILL included.
 *
 * @throws EmbeddedServerError for every error that the operator can fix
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const user = chooseServerUser();
  if (options.allowSharedUser === false && isSharedUser(user)) throw sharedUser();
  const place = await explainErrors(options.dataDir, () => locateData(options, user));
  return explainErrors(place.directory, async () => {
    prepareData(place, user);
    const release = await takeAppLock(place.directory, options.purpose ?? 'service');
    try {
      return await startLocked(options, place, user, release);
    } catch (error) {
      release();
      throw error;
    }
  });
}

async function startLocked(
  options: EmbeddedOptions,
  { directory, moved }: Place,
  user: ServerUser | undefined,
  release: () => void,
): Promise<EmbeddedServer> {
  requireMajor(directory);
  const { durable = true, canCreateDatabases = false, maxConnections = MAX_CONNECTIONS } = options;
  const binaries = await findBinaries({ binDir: options.binDir, directory, user });
  await ensureCluster(directory, binaries, user, durable);
  const socketDirectory = prepareSocketDirectory(directory, user);
  const server = await startServer({
    directory,
    socketDirectory,
    binaries,
    user,
    durable,
    canCreateDatabases,
    maxConnections,
  });
  let stopped: Promise<void> | undefined;
  return {
    directory,
    url: (database = 'postgres') => connectionUrl(socketDirectory, database),
    ended: server.ended,
    notices: [
      ...(moved ? [movedNotice(directory, user)] : []),
      ...(isSharedUser(user) ? [SHARED_NOTICE] : []),
    ],
    stop: () => (stopped ??= end(server, () => removeSocketDirectory(socketDirectory, directory), release)),
  };
}

const SHARED_NOTICE =
  'PostgreSQL runs as the user nobody. Other programs run as this user too and can read its data: create a user postgres, or start the service as an ordinary user.';

/** Stops the server, then runs the other steps in order. The lock is released last, after the server has ended. */
async function end(server: ServerProcess, ...afterwards: readonly (() => void)[]): Promise<void> {
  await stopServer(server);
  for (const step of afterwards) step();
}

function sharedUser(): EmbeddedServerError {
  return new EmbeddedServerError(
    'In production PostgreSQL does not run as the user nobody, because other programs run as this user too: create a user postgres, start the service as an ordinary user, or set DATABASE_URL.',
  );
}

async function explainErrors<T>(folder: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw explainFolder(error, folder);
  }
}

function movedNotice(directory: string, user: ServerUser | undefined): string {
  return `The data is in ${directory}, because the user ${user?.name ?? ''}, which runs PostgreSQL in place of root, cannot reach the project's folder.`;
}
