import { findBinaries } from './binaries';
import { ensureCluster, refuseOtherMajor } from './cluster';
import { locateData, prepareData, type Place } from './data-directory';
import { EmbeddedServerError, explainFolder } from './errors';
import { type Purpose, takeAppLock } from './lock';
import { startServer, stopServer } from './server';
import type { ServerProcess } from './server-process';
import { chooseServerUser, isShared, type ServerUser } from './server-user';
import { connectionUrl, prepareSocketDirectory, removeSocketDirectory } from './socket-directory';

/** Each takes memory of the server; those that one process may hold are fewer, see `open-database.ts`. */
const MAX_CONNECTIONS = 60;

export interface EmbeddedOptions {
  /** DATA_DIR as set by the user. */
  readonly dataDir: string;
  /**
   * True when the user chose dataDir; false when it is the default (`.data`), which may be replaced by
   * /var/lib/animal-store/<hash of the project path> when root's server user can't reach it.
   */
  readonly dataDirIsExplicit: boolean;
  /** EMBEDDED_PG_BIN: another PostgreSQL 18 bin folder, or undefined. */
  readonly binDir: string | undefined;
  /** Whether the user nobody, as whom other programs run too, may run the server in place of root. Default true. */
  readonly allowSharedUser?: boolean;
  /** false only in tests: fsync off. Default true. */
  readonly durable?: boolean;
  /** For tests, whose workers share one server. Default 60. */
  readonly maxConnections?: number;
  /** A command is waited for by others, and its server joined by none. Default service. */
  readonly purpose?: Purpose;
}

export interface EmbeddedServer {
  /** Where the data really is (absolute). */
  readonly directory: string;
  /** A URL that node-postgres and libpq understand; the database is `postgres` unless named. */
  url(database?: string): string;
  /** Sentences that a person should see on the console. */
  readonly notices: readonly string[];
  /** Resolves when the server has ended, whether asked to or not. */
  readonly ended: Promise<void>;
  /** Ends the server and gives the lock back; call after all connections are closed. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts the server of dataDir, whose files it creates the first time, and takes the folder's lock. The server ends
 * with this process, however that ends. Rejects with an EmbeddedServerError for everything that a person can mend.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const user = chooseServerUser();
  if (options.allowSharedUser === false && isShared(user)) throw sharedUser();
  const place = await explaining(options.dataDir, () => locateData(options, user));
  return explaining(place.directory, async () => {
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
  refuseOtherMajor(directory);
  const { durable = true, maxConnections = MAX_CONNECTIONS } = options;
  const binaries = await findBinaries({ binDir: options.binDir, directory, user });
  await ensureCluster(directory, binaries, user, durable);
  const socketDirectory = prepareSocketDirectory(directory, user);
  const server = await startServer({
    directory,
    socketDirectory,
    binaries,
    user,
    durable,
    maxConnections,
  });
  let stopped: Promise<void> | undefined;
  return {
    directory,
    url: (database = 'postgres') => connectionUrl(socketDirectory, database),
    ended: server.ended,
    notices: [...(moved ? [movedNotice(directory, user)] : []), ...(isShared(user) ? [SHARED_NOTICE] : [])],
    stop: () => (stopped ??= end(server, () => removeSocketDirectory(socketDirectory, directory), release)),
  };
}

const SHARED_NOTICE =
  'PostgreSQL runs as nobody, and so do other programs, which can read its data: create a user postgres, or start the service as an ordinary user.';

/** The lock goes last: whoever gets it finds no server. */
async function end(server: ServerProcess, ...afterwards: readonly (() => void)[]): Promise<void> {
  await stopServer(server);
  for (const step of afterwards) step();
}

function sharedUser(): EmbeddedServerError {
  return new EmbeddedServerError(
    'In production PostgreSQL does not run as nobody, because other programs run as nobody too: create a user postgres, start the service as an ordinary user, or set DATABASE_URL.',
  );
}

async function explaining<T>(folder: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw explainFolder(error, folder);
  }
}

function movedNotice(directory: string, user: ServerUser | undefined): string {
  return `The data is in ${directory}, because the user ${user?.name ?? ''}, who runs PostgreSQL in place of root, cannot reach the project's folder.`;
}
