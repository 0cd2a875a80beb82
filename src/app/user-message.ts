import { types } from 'node:util';
import { isDatabaseUnavailable, POOLER_FAULT } from '../database/database-errors';
import { ApiError } from '../api/errors/api-error';
import { codeOf, UserError } from '../config/user-error';

/** A prepared statement is missing or exists twice: a transaction pooler has switched the session. */
const UNPOOLED =
  'The pooler in front of the database has no prepared statements: set DATABASE_PREPARED_STATEMENTS=false.';

/** Sentences for errors that stop a start or a command, by PostgreSQL's code. */
const SENTENCES: Readonly<Record<string, string>> = {
  '28P01': 'The database rejected the password: correct it in DATABASE_URL.',
  '28000': 'The database rejected the user: correct it in DATABASE_URL.',
  '3D000': 'The database named in DATABASE_URL does not exist: create it, or name another.',
  '25006': 'The database in DATABASE_URL is read-only: name the primary server, or make it writable.',
  '53100': 'The disk of the database is full: free space on it, and try again.',
  '26000': UNPOOLED,
  '42P05': UNPOOLED,
  '3F000':
    'The user in DATABASE_URL has no schema to create tables in: grant it CREATE on a schema of its search_path.',
};

/** Sentences for errors of the connection, by the beginning of their messages. */
const DRIVER_SENTENCES: readonly (readonly [string, string])[] = [
  [POOLER_FAULT, POOLER_FAULT],
  ['SASL: ', 'The database asks for a password: put it into DATABASE_URL.'],
  ['The server does not support SSL', 'The database offers no TLS: take sslmode out of DATABASE_URL.'],
];

/** Codes of Node.js and OpenSSL for a TLS connection that fails. */
const TLS_CODE = /CERT|SIGNATURE|INVALID|^ERR_(SSL|TLS|OSSL)/;

/** Codes of a server that does not run a function, as a hosted one may, and the name of one that it does not have. */
const REFUSED = /^(0A000|55000)$/;
const MISSING = /\b(pg_\w+|set_config)\(/;

/** Codes if a relation, type, function or column exists already. */
const TAKEN = /^42(P07|710|723|701)$/;

/** Explains an error to the operator in one sentence; an unexpected error keeps its stack trace. */
export function userMessage(error: unknown): string {
  if (error instanceof UserError || error instanceof ApiError) return error.message;
  if (!types.isNativeError(error)) return String(error);
  const sentence = SENTENCES[codeOf(error)];
  if (sentence !== undefined) return sentence;
  if (codeOf(error) === '42501')
    return `The user in DATABASE_URL lacks a right (${error.message}): grant it to this user, or make it the owner of the schema and all tables.`;
  if (REFUSED.test(codeOf(error)) || (codeOf(error) === '42883' && MISSING.test(error.message)))
    return `The server in DATABASE_URL lacks or refuses a function that Animal Store needs (${error.message}): enable it, or use another server.`;
  if (TAKEN.test(codeOf(error)))
    return `A migration fails (${error.message}), and nothing was changed: rename what is there, and try again.`;
  if ('path' in error && 'syscall' in error) {
    return `The file ${String(error.path)} cannot be read: correct its name, or let this user read it.`;
  }
  const known = DRIVER_SENTENCES.find(([beginning]) => error.message.startsWith(beginning));
  if (known) return known[1];
  if (isDatabaseUnavailable(error)) {
    if (TLS_CODE.test(codeOf(error)))
      return `The TLS connection to the database fails (${error.message}): correct the server's certificate, or the host and sslrootcert in DATABASE_URL.`;
    return `The database cannot be reached (${error.message || codeOf(error)}): check DATABASE_URL, and that the server runs.`;
  }
  return error.stack ?? error.message;
}
