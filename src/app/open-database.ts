import type { Config } from '../config/config';
import { type EmbeddedOptions, startEmbedded } from '../embedded-postgres';
import { settings } from '../config/settings';

/** Connections of the embedded server for other processes: commands, backups and `psql`. */
const OTHER_CONNECTIONS = 50;

/**
 * Opens the server of DATABASE_URL, which has no `directory`, or starts the embedded one, which ends with this process. A
 * command shares the embedded server of a running service. Close all connections before `stop()`.
 *
 * @param onCreate is called before the files of a new database are created, which takes seconds; may throw
 */
export async function openDatabase(
  config: Config,
  purpose: NonNullable<EmbeddedOptions['purpose']>,
  onCreate: (directory: string) => void,
) {
  const { databaseUrl, databasePoolSize, dataDir, deployment, workers } = config;
  if (databaseUrl !== undefined) {
    const ended = new Promise<void>(() => undefined);
    return { url: () => databaseUrl, directory: undefined, ended, stop: () => Promise.resolve() };
  }
  return startEmbedded({
    purpose,
    onCreate,
    dataDir,
    canMove: dataDir === settings.dataDir.defaultText,
    allowNobody: deployment !== 'production',
    // The primary process has a pool, too.
    maxConnections: databasePoolSize * (workers > 1 ? workers + 1 : 1) + OTHER_CONNECTIONS,
  });
}
