import { AccountsError } from './auth';
import { ConfigError } from './config/config';
import { isDatabaseUnavailable } from './database/database-errors';
import { EmbeddedServerError } from './database/embedded';
import { SchemaError } from './database/migrate';

/** What a person is told of an error that keeps the service from starting or a command from its work, by Node's or PostgreSQL's code. */
const SENTENCES: Readonly<Record<string, (error: Error) => string>> = {
  EADDRINUSE: (error) => `${address(error)} is already in use: stop the program that uses it, or set PORT.`,
  EADDRNOTAVAIL: (error) => `${address(error)} is not an address of this machine: set HOST.`,
  EACCES: (error) => `${address(error)} may not be used by this user: set PORT to 1024 or more.`,
  '28P01': () => 'The database refused the password: correct it in DATABASE_URL.',
  '28000': () => 'The database refused the user: correct it in DATABASE_URL.',
  '3D000': () => 'The database named in DATABASE_URL does not exist: create it, or name another.',
  '42501': () => 'The user in DATABASE_URL may not create tables: grant it CREATE on the schema.',
};

/** Errors whose message is the sentence already. */
const SENTENCE_ERRORS = [AccountsError, ConfigError, EmbeddedServerError, SchemaError];

/** One sentence that says what to do, or for an error that nobody foresaw all that is known of it. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (SENTENCE_ERRORS.some((type) => error instanceof type)) return error.message;
  const sentence = SENTENCES[codeOf(error)];
  if (sentence) return sentence(error);
  if (isDatabaseUnavailable(error)) {
    return `The database cannot be reached (${error.message || codeOf(error)}): check DATABASE_URL, and that the server runs.`;
  }
  return error.stack ?? error.message;
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

function address(error: Error): string {
  return 'address' in error && 'port' in error
    ? `${String(error.address)}:${String(error.port)}`
    : 'The address';
}
