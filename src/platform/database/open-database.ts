import { type Config } from '../config/config';
import { type EmbeddedOptions, joinEmbedded, startEmbedded } from '../../embedded-postgres';
import { settings } from '../config/settings';
import { UserError } from '../errors/user-error';

export type DatabaseSettings = Pick<
  Config,
  'databaseUrl' | 'databasePoolSize' | 'dataDir' | 'deployment' | 'embeddedPgBin'
>;

/** Largest pool of one process: the embedded server takes 60 connections, and the command line needs some. */
const MAX_EMBEDDED_POOL = 50;

/** A database that accepts connections. */
export interface OpenDatabase {
  readonly url: string;
  /** The data folder of the embedded server; undefined for the server of DATABASE_URL. */
  readonly directory: string | undefined;
  /** Sentences for the operator. */
  readonly notices: readonly string[];
  /** Resolves when an embedded server that this process started has ended; pending for any other. */
  readonly ended: Promise<void>;
  /** Stops an embedded server that this process started. Close all connections first. */
  close(): Promise<void>;
}

/** Opens the server of DATABASE_URL, or starts the embedded one, which ends with this process. */
export function openDatabase(config: DatabaseSettings): Promise<OpenDatabase> {
  return open(config, 'service');
}

/**
 * Opens the database for a command, which shares the embedded server of a running service.
 *
 * @param canCreate false rejects a data folder without a database
 */
export async function joinDatabase(config: DatabaseSettings, canCreate: boolean): Promise<OpenDatabase> {
  const joined = await join(config);
  if (joined) return joined;
  try {
    return await open(config, 'command', canCreate);
  } catch (error) {
    // A service may have started in the meantime.
    const started = await join(config);
    if (started) return started;
    throw error;
  }
}

async function open(
  config: DatabaseSettings,
  purpose: NonNullable<EmbeddedOptions['purpose']>,
  canCreate = true,
): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl);
  if (config.databasePoolSize > MAX_EMBEDDED_POOL) {
    throw new UserError(
      `DATABASE_POOL_SIZE must be at most ${MAX_EMBEDDED_POOL} with the embedded PostgreSQL: lower it, or set DATABASE_URL to another server.`,
    );
  }
  const server = await startEmbedded({ ...embeddedOptions(config), purpose, canCreate });
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
    canMove: dataDir === settings.dataDir.defaultText,
    binDir: embeddedPgBin,
    allowSharedUser: deployment !== 'production',
  };
}
