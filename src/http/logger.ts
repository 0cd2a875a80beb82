import { format } from 'node:util';
import { type Logger as PinoLogger, pino, stdSerializers } from 'pino';
import type { Config } from '../config/config';

export type Logger = PinoLogger & { readonly droppedLines: () => number };

/** The destination of finished lines. */
export interface LogStream {
  write(line: string): void;
  readonly droppedLines?: number;
}

/** The first characters of every API key. */
export const API_KEY_MARK = 'ask_';

/** Matches an API key anywhere in a line: in a path, an error, a request id. */
const API_KEY = /ask_(live|test)_[0-9A-Za-z]+/g;

/** Replaces API keys. Few lines contain one, and the search for the first characters takes half the time. */
function maskKeys(line: string): string {
  return line.includes(API_KEY_MARK) ? line.replaceAll(API_KEY, `${API_KEY_MARK}$1_…`) : line;
}

/** Escapes DEL and the C1 controls, as JSON escapes the C0 controls: some terminals execute them. */
function escapeControls(text: string): string {
  return text.replaceAll(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

/** Keeps only what locates and explains an error. Errors of the database also have the parameters. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: format('%s', error) };
  const { type, message, stack } = stdSerializers.err(error);
  return { type, message, ...('code' in error && { code: error.code }), stack };
}

/** Creates the logger of the process: JSON lines. */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>, stream: LogStream): Logger {
  const logger = pino(
    {
      level: logLevel,
      base: null,
      redact: ['req.headers.authorization', 'headers.authorization'],
      serializers: { err: describe },
      hooks: { streamWrite: (line) => escapeControls(maskKeys(line)) },
    },
    stream,
  );
  return Object.assign(logger, { droppedLines: () => stream.droppedLines ?? 0 });
}
