import { type Config } from '../config/config';
import { UserError } from '../errors/user-error';

/** Open files in addition to client connections and the pool: for the log, listeners, Redis, DNS and modules. */
const RESERVED_FILES = 100;

/** The number of connections that the process can accept. */
interface ConnectionLimit {
  readonly maxConnections: number;
  /** Sentences for the operator. */
  readonly notices: readonly string[];
}

/**
 * Lowers MAX_CONNECTIONS if the system allows the process too few open files. Each connection is an open file, and a
 * process without a free one cannot serve its open connections.
 *
 * @param openFiles the limit of the process (`ulimit -n`); undefined if it has none
 * @throws UserError if the limit leaves no file for a connection
 */
export function fitConnections(
  { maxConnections, databasePoolSize }: Pick<Config, 'maxConnections' | 'databasePoolSize'>,
  openFiles: number | undefined,
): ConnectionLimit {
  const needed = RESERVED_FILES + databasePoolSize;
  if (openFiles === undefined || openFiles >= maxConnections + needed) return { maxConnections, notices: [] };
  const limit = `The process may open only ${openFiles} files`;
  const remedy = `Raise that limit ("ulimit -n") to ${maxConnections + needed}`;
  if (openFiles <= needed) throw new UserError(`${limit}. ${remedy}.`);
  const available = openFiles - needed;
  return {
    maxConnections: available,
    notices: [`${limit}: MAX_CONNECTIONS is ${available}. ${remedy} for ${maxConnections}.`],
  };
}

/** Reads the soft limit of open files. Node raises it to the hard limit when it starts. */
export function readOpenFileLimit(): number | undefined {
  const { userLimits }: { userLimits?: { open_files?: { soft?: unknown } } } = Object(
    process.report.getReport(),
  );
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isFinite(limit) ? limit : undefined;
}
