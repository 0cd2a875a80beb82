import { type Config, ConfigError } from './config';

/** Open files that the process needs beside clients' connections and the pool: log, listeners, Redis, DNS, modules. */
const RESERVED_FILES = 100;

/** MAX_CONNECTIONS as the process can hold it. */
interface ConnectionLimit {
  readonly maxConnections: number;
  /** Sentences for the person at the terminal. */
  readonly notices: readonly string[];
}

/**
 * Lowers MAX_CONNECTIONS if the system allows the process too few open files. Each connection is an open file, and a
 * process that has none left cannot serve the connections that it has.
 *
 * @param openFiles the limit of the process (`ulimit -n`); undefined for none
 * @throws ConfigError if there is no room for a connection
 */
export function fitConnections(
  { maxConnections, databasePoolSize }: Pick<Config, 'maxConnections' | 'databasePoolSize'>,
  openFiles: number | undefined,
): ConnectionLimit {
  const needed = RESERVED_FILES + databasePoolSize;
  if (openFiles === undefined || openFiles >= maxConnections + needed) return { maxConnections, notices: [] };
  const limit = `The process may open only ${openFiles} files`;
  const remedy = `Raise that limit ("ulimit -n") to ${maxConnections + needed}`;
  if (openFiles <= needed) throw new ConfigError(`${limit}. ${remedy}.`);
  const room = openFiles - needed;
  return {
    maxConnections: room,
    notices: [`${limit}: MAX_CONNECTIONS is ${room}. ${remedy} for ${maxConnections}.`],
  };
}

/** The soft limit of open files. Node raises it to the hard limit at its start. */
export function readOpenFileLimit(): number | undefined {
  const { userLimits }: { userLimits?: { open_files?: { soft?: unknown } } } = Object(
    process.report.getReport(),
  );
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isFinite(limit) ? limit : undefined;
}
