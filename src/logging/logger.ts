import { type Logger as PinoLogger, pino } from 'pino';
import type { Config } from '../config/config';
import { escapeControls } from './controls';
import { openStandardOutput } from './standard-output';

export type Logger = PinoLogger & { readonly droppedLines: () => number };

/** Takes finished lines. */
export interface LogStream {
  write(line: string): void;
  /** Lines that it could not keep. */
  readonly droppedLines?: number;
}

/** What every API key begins with. */
export const API_KEY_MARK = 'ask_';

/** Anything that looks like an API key, wherever in a line it turns up: a path, an error, a request id. */
const API_KEY = /ask_(live|test)_[0-9A-Za-z]+/g;

/** To look for its beginning alone takes half the time, and hardly any line has it. */
function masked(line: string): string {
  return line.includes(API_KEY_MARK) ? line.replaceAll(API_KEY, `${API_KEY_MARK}$1_…`) : line;
}

/** Nothing but what says where and why: an error of the database would bring the statement's parameters with it. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  return { type: name, message, ...code, stack, ...(cause === undefined ? {} : { cause: describe(cause) }) };
}

/** The process's one logger: JSON lines, written asynchronously. */
export function createLogger(
  { logLevel }: Pick<Config, 'logLevel'>,
  stream: LogStream = openStandardOutput(),
): Logger {
  const logger = pino(
    {
      level: logLevel,
      base: null,
      redact: ['req.headers.authorization', 'headers.authorization'],
      serializers: { err: describe },
      hooks: { streamWrite: (line) => escapeControls(masked(line)) },
    },
    stream,
  );
  return Object.assign(logger, { droppedLines: () => stream.droppedLines ?? 0 });
}
