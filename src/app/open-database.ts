import { type Config } from '../config/config';
import { type EmbeddedOptions, type EmbeddedServer, startEmbedded } from '../embedded-postgres';
import { settings } from '../config/settings';

/** Connections of the embedded server for other processes: commands, backups and `psql`. */
const OTHER_CONNECTIONS = 50;

/** A database that accepts connections. `ended` is pending for a server that another process has started. */
export interface OpenDatabase extends Pick<EmbeddedServer, 'notices' | 'ended'> {
  readonly url: string;
  /** The data folder of the embedded server; undefined for the server of DATABASE_URL. */
  readonly directory: string | undefined;
  /** Stops an embedded server that this process started. Close all connections first. */
  close(): Promise<void>;
}

/**
 * Opens the server of DATABASE_URL, or starts the embedded one, which ends with this process. A command shares the
 * embedded server of a running service.
 *
 * @param onCreate is called before the files of a new database are created, which takes seconds; may throw
 */
export async function openDatabase(
  config: Config,
  purpose: NonNullable<EmbeddedOptions['purpose']>,
  onCreate: (directory: string) => void,
): Promise<OpenDatabase> {
  const { databaseUrl, databasePoolSize, dataDir, deployment, workers } = config;
  if (databaseUrl !== undefined) {
    const ended = new Promise<void>(() => undefined);
    return { url: databaseUrl, directory: undefined, notices: [], ended, close: () => Promise.resolve() };
  }
  const server = await startEmbedded({
    purpose,
    onCreate,
    dataDir,
    canMove: dataDir === settings.dataDir.defaultText,
    allowSharedUser: deployment !== 'production',
    // The primary process has a pool, too.
    maxConnections: databasePoolSize * (workers > 1 ? workers + 1 : 1) + OTHER_CONNECTIONS,
  });
  return { ...server, url: server.url(), close: () => server.stop() };
}
