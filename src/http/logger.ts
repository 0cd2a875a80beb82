import { format } from 'node:util';
import { type DestinationStream, type Logger as PinoLogger, pino, stdSerializers } from 'pino';
import type { Config } from '../config/config';

export type Logger = PinoLogger & { readonly droppedLines: () => number };

/** Matches an API key anywhere in a line: in a path, an error, a request id. */
const API_KEY = /ask_(live|test)_[0-9A-Za-z]+/g;

/** Replaces API keys. Few lines contain one, and the search for the first characters takes half the time. */
function maskKeys(line: string): string {
  return line.includes('ask_') ? line.replaceAll(API_KEY, 'ask_$1_…') : line;
}

/** Keeps only what locates and explains an error. Errors of the database also have the parameters. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: format('%s', error) };
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message, ...('code' in error && { code: error.code }), stack };
}

/** Creates the logger of the process: JSON lines. */
export function createLogger(
  { logLevel }: Pick<Config, 'logLevel'>,
  stream: DestinationStream & { readonly droppedLines?: number },
): Logger {
  const logger = pino(
    { level: logLevel, base: null, serializers: { err: describe }, hooks: { streamWrite: maskKeys } },
    stream,
  );
  return Object.assign(logger, { droppedLines: () => stream.droppedLines ?? 0 });
}
