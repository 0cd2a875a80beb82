import { types } from 'node:util';
import { EmbeddedServerError } from '../embedded-postgres';
import { TargetError } from '../platform/database/copy/copy-database';
import { isDatabaseUnavailable } from '../platform/database/database-errors';
import { MIN_SERVER_VERSION, OldServerError } from '../platform/database/migration-transaction';
import { codeOf, UserError } from '../platform/errors/user-error';

/** The setting or option that gave the URL of a database. */
type UrlPlace = 'DATABASE_URL' | '--to';

/** Sentences for errors that stop a start or a command, by PostgreSQL's code. */
const SENTENCES: Readonly<Record<string, (place: UrlPlace) => string>> = {
  '28P01': (place) => `The database rejected the password: correct it in ${place}.`,
  '28000': (place) => `The database rejected the user: correct it in ${place}.`,
  '3D000': (place) => `The database named in ${place} does not exist: create it, or name another.`,
  '25006': (place) => `The database in ${place} is read-only: name the primary server, or make it writable.`,
  '53100': () => 'The disk of the database is full: free space on it, and try again.',
  '26000': unpooled,
  '42P05': unpooled,
  '3F000': (place) =>
    `The user in ${place} has no schema to create tables in: grant it CREATE on a schema of its search_path.`,
  '42501': (place) => `The user in ${place} may not create tables: grant it CREATE on the schema.`,
};

/** Sentences for errors of node-postgres itself, by the beginning of its message. */
const DRIVER_SENTENCES: readonly (readonly [string, (place: UrlPlace) => string])[] = [
  ['SASL: ', (place) => `The database asks for a password: put it into ${place}.`],
  ['The server does not support SSL', (place) => `The database offers no TLS: take sslmode out of ${place}.`],
];

/** Fastify's error for a second handler of a route, which `isNativeError` does not recognise. */
const DUPLICATED_ROUTE = /FST_ERR_DUPLICATED_ROUTE\]: Method '(.+)' already declared for route '(.+)'$/;

/** Explains an error to the operator in one sentence; an unexpected error keeps its stack trace. */
export function userMessage(error: unknown, place: UrlPlace = 'DATABASE_URL'): string {
  if (error instanceof TargetError) return userMessage(error.cause, '--to');
  const [, method, url] = DUPLICATED_ROUTE.exec(String(error)) ?? [];
  if (url !== undefined) return `Two handlers serve ${method} ${url}: change the path of one of them.`;
  if (!types.isNativeError(error)) return String(error);
  if (error instanceof UserError || error instanceof EmbeddedServerError) return error.message;
  if (error instanceof OldServerError) {
    return `The server in ${place} is PostgreSQL ${error.major}, and Animal Store needs ${MIN_SERVER_VERSION} or later: upgrade it, or name another.`;
  }
  const sentence = SENTENCES[codeOf(error)];
  if (sentence) return sentence(place);
  if ('path' in error && 'syscall' in error && error.syscall === 'open') {
    return `The file ${String(error.path)} cannot be read: correct its name in ${place}, or let this user read it.`;
  }
  const known = DRIVER_SENTENCES.find(([beginning]) => error.message.startsWith(beginning));
  if (known) return known[1](place);
  if (isDatabaseUnavailable(error)) {
    return `The database cannot be reached (${error.message || codeOf(error)}): check ${place}, and that the server runs.`;
  }
  return error.stack ?? error.message;
}

/** A prepared statement is missing or exists twice: a transaction pooler has switched the session. */
function unpooled(): string {
  return 'The pooler in front of the database has no prepared statements: set DATABASE_PREPARED_STATEMENTS=false.';
}
