import { type Config, ConfigError } from '../config/config';
import { settings } from '../config/settings';
import { CopyError } from './copy.error';
import { type EmbeddedOptions, joinEmbedded, startEmbedded } from './embedded';

export type DatabaseSettings = Pick<
  Config,
  'databaseUrl' | 'databasePoolSize' | 'dataDir' | 'deployment' | 'embeddedPgBin'
>;

/** Of the embedded server's 60 connections, those that one process may hold: the rest is for the command line. */
const LARGEST_EMBEDDED_POOL = 50;

/** A database that can be connected to. */
export interface OpenDatabase {
  readonly url: string;
  /** Where the data of the embedded server is; undefined for a server of its own. */
  readonly directory: string | undefined;
  /** Sentences for the person at the console. */
  readonly notices: readonly string[];
  /** Resolves when an embedded server that was started here has ended; never for another. */
  readonly ended: Promise<void>;
  /** Ends the embedded server, if it was started here; call it when no connection is open any more. */
  close(): Promise<void>;
}

/** The server of DATABASE_URL, or the embedded one, which is started and ends with this process. */
export function openDatabase(config: DatabaseSettings): Promise<OpenDatabase> {
  return open(config, 'service');
}

/** The same for a command of the command line: it shares the embedded server that a running service has started. */
export async function joinDatabase(config: DatabaseSettings): Promise<OpenDatabase> {
  const joined = await join(config);
  if (joined) return joined;
  try {
    return await open(config, 'command');
  } catch (error) {
    // A service may have come first after all.
    const late = await join(config);
    if (late) return late;
    throw error;
  }
}

/**
 * The embedded server, for a command that must have it for itself: until it is closed no service starts on it.
 *
 * @throws CopyError where a service runs on it, or DATABASE_URL names another server
 */
export async function openEmbeddedAlone(config: DatabaseSettings): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) {
    throw new CopyError(
      'DATABASE_URL is set, and only the embedded database can be copied: unset it, or copy that server with pg_dump and pg_restore.',
    );
  }
  if (await join(config)) {
    throw new CopyError('The service is running on the embedded database: stop it, then copy.');
  }
  return open(config, 'command');
}

async function open(
  config: DatabaseSettings,
  purpose: NonNullable<EmbeddedOptions['purpose']>,
): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl);
  if (config.databasePoolSize > LARGEST_EMBEDDED_POOL) {
    throw new ConfigError(
      `DATABASE_POOL_SIZE must be at most ${LARGEST_EMBEDDED_POOL} with the embedded PostgreSQL: lower it, or set DATABASE_URL to another server.`,
    );
  }
  const server = await startEmbedded({ ...embeddedOptions(config), purpose });
  const { directory, notices, ended } = server;
  return { url: server.url(), directory, notices, ended, close: () => server.stop() };
}

async function join(config: DatabaseSettings): Promise<OpenDatabase | undefined> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl);
  const running = await joinEmbedded(embeddedOptions(config));
  return running && { ...external(running.url()), directory: running.directory };
}

function external(url: string): OpenDatabase {
  const never = new Promise<void>(() => undefined);
  return { url, directory: undefined, notices: [], ended: never, close: () => Promise.resolve() };
}

function embeddedOptions({ dataDir, deployment, embeddedPgBin }: DatabaseSettings): EmbeddedOptions {
  return {
    dataDir,
    dataDirIsExplicit: dataDir !== settings.dataDir.byDefault,
    binDir: embeddedPgBin,
    allowSharedUser: deployment !== 'production',
  };
}
