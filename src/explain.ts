import { AccountsError } from './auth';
import { VerifyError } from './cli/verify/verify.error';
import { ConfigError } from './config/config';
import { isDatabaseUnavailable } from './database/database-errors';
import { EmbeddedServerError } from './database/embedded';
import { ListenError } from './listen';
import { SchemaError } from './database/migrate';
import { MetricsPortError } from './metrics/metrics.errors';

/** What a person is told of an error that keeps the service from starting or a command from its work, by PostgreSQL's code. */
const SENTENCES: Readonly<Record<string, string>> = {
  '28P01': 'The database refused the password: correct it in DATABASE_URL.',
  '28000': 'The database refused the user: correct it in DATABASE_URL.',
  '3D000': 'The database named in DATABASE_URL does not exist: create it, or name another.',
  '42501': 'The user in DATABASE_URL may not create tables: grant it CREATE on the schema.',
};

/** What node-postgres refuses by itself, by the beginning of its message. */
const DRIVER_REFUSALS: readonly (readonly [string, string])[] = [
  ['SASL: ', 'The database asks for a password: put it into DATABASE_URL.'],
  ['The server does not support SSL', 'The database offers no TLS: take sslmode out of DATABASE_URL.'],
];

/** Errors whose message is the sentence already. */
const SENTENCE_ERRORS = [
  AccountsError,
  ConfigError,
  EmbeddedServerError,
  ListenError,
  MetricsPortError,
  SchemaError,
  VerifyError,
];

/** One sentence that says what to do, or for an error that nobody foresaw all that is known of it. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (SENTENCE_ERRORS.some((type) => error instanceof type)) return error.message;
  const sentence = SENTENCES[codeOf(error)];
  if (sentence) return sentence;
  if ('path' in error && 'syscall' in error && error.syscall === 'open') {
    return `The file ${String(error.path)} cannot be read: correct its name in DATABASE_URL, or let this user read it.`;
  }
  const refusal = DRIVER_REFUSALS.find(([beginning]) => error.message.startsWith(beginning));
  if (refusal) return refusal[1];
  if (isDatabaseUnavailable(error)) {
    return `The database cannot be reached (${error.message || codeOf(error)}): check DATABASE_URL, and that the server runs.`;
  }
  return error.stack ?? error.message;
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
