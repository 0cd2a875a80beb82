import type { Config } from '../config/config';
import { settings } from '../config/settings';
import { joinEmbedded, startEmbedded } from './embedded';

export type DatabaseSettings = Pick<Config, 'databaseUrl' | 'dataDir' | 'embeddedPgBin'>;

/** A database that can be connected to. */
export interface OpenDatabase {
  readonly url: string;
  /** Where the data of the embedded server is; undefined for a server of its own. */
  readonly directory: string | undefined;
  /** Sentences for the person at the console. */
  readonly notices: readonly string[];
  /** Ends the embedded server, if it was started here; call it when no connection is open any more. */
  close(): Promise<void>;
}

/** The server of DATABASE_URL, or the embedded one, which is started. */
export async function openDatabase(config: DatabaseSettings): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl);
  const server = await startEmbedded(embeddedOptions(config));
  const { directory, notices } = server;
  return { url: server.url(), directory, notices, close: () => server.stop() };
}

/** Like `openDatabase`, but shares an embedded server that a running service has started. For the command line. */
export async function joinDatabase(config: DatabaseSettings): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) return external(config.databaseUrl);
  const running = await joinEmbedded(embeddedOptions(config));
  if (!running) return openDatabase(config);
  return { ...external(running.url()), directory: running.directory };
}

function external(url: string): OpenDatabase {
  return { url, directory: undefined, notices: [], close: () => Promise.resolve() };
}

function embeddedOptions({ dataDir, embeddedPgBin }: DatabaseSettings) {
  return {
    dataDir,
    dataDirIsExplicit: dataDir !== settings.dataDir.byDefault,
    binDir: embeddedPgBin,
  };
}
