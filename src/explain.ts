import { types } from 'node:util';
import { AccountsError } from './auth';
import { VerifyError } from './cli/verify/verify.error';
import { ConfigError } from './config/config';
import { CopyError, TargetError } from './database/copy.error';
import { isDatabaseUnavailable } from './database/database-errors';
import { EmbeddedServerError } from './database/embedded';
import { codeOf } from './errors/code-of';
import { ListenError } from './listen';
import { OLDEST_SERVER, OldServerError, SchemaError } from './database/migrate';
import { OutputError } from './logging/log-destination';
import { MetricsPortError } from './metrics/metrics.errors';
import { DeclarationError } from './start-checks/declaration.error';

/** Where the URL of a database was given. */
type UrlPlace = 'DATABASE_URL' | '--to';

/** What a person is told of an error that keeps the service from starting or a command from its work, by PostgreSQL's code. */
const SENTENCES: Readonly<Record<string, (place: UrlPlace) => string>> = {
  '28P01': (place) => `The database refused the password: correct it in ${place}.`,
  '28000': (place) => `The database refused the user: correct it in ${place}.`,
  '3D000': (place) => `The database named in ${place} does not exist: create it, or name another.`,
  '25006': (place) =>
    `The database in ${place} takes no changes: name the primary server, or make it writable.`,
  '53100': () => 'The disk of the database is full: make room on it, and try again.',
  '26000': unpooled,
  '42P05': unpooled,
  '3F000': (place) =>
    `The user in ${place} has no schema to create tables in: grant it one on its search_path.`,
  '42501': (place) => `The user in ${place} may not create tables: grant it CREATE on the schema.`,
};

/** What node-postgres refuses by itself, by the beginning of its message. */
const DRIVER_REFUSALS: readonly (readonly [string, (place: UrlPlace) => string])[] = [
  ['SASL: ', (place) => `The database asks for a password: put it into ${place}.`],
  ['The server does not support SSL', (place) => `The database offers no TLS: take sslmode out of ${place}.`],
];

/** Errors whose message is the sentence already. */
const SENTENCE_ERRORS = [
  AccountsError,
  ConfigError,
  CopyError,
  DeclarationError,
  EmbeddedServerError,
  ListenError,
  MetricsPortError,
  OutputError,
  SchemaError,
  VerifyError,
];

/** One sentence that says what to do, or for an error that nobody foresaw all that is known of it. */
export function explain(error: unknown, place: UrlPlace = 'DATABASE_URL'): string {
  if (error instanceof TargetError) return explain(error.cause, '--to');
  if (!types.isNativeError(error)) return String(error);
  if (SENTENCE_ERRORS.some((type) => error instanceof type)) return error.message;
  if (error instanceof OldServerError) {
    return `The server in ${place} is PostgreSQL ${error.major}, and Animal Store needs ${OLDEST_SERVER} or later: upgrade it, or name another.`;
  }
  const sentence = SENTENCES[codeOf(error)];
  if (sentence) return sentence(place);
  if ('path' in error && 'syscall' in error && error.syscall === 'open') {
    return `The file ${String(error.path)} cannot be read: correct its name in ${place}, or let this user read it.`;
  }
  const refusal = DRIVER_REFUSALS.find(([beginning]) => error.message.startsWith(beginning));
  if (refusal) return refusal[1](place);
  if (isDatabaseUnavailable(error)) {
    return `The database cannot be reached (${error.message || codeOf(error)}): check ${place}, and that the server runs.`;
  }
  return error.stack ?? error.message;
}

/** A prepared statement was there that should not, or was not that should: another session than the one meant. */
function unpooled(): string {
  return 'The pooler in front of the database has no prepared statements: set DATABASE_PREPARED_STATEMENTS=false.';
}
