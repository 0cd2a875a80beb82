import { ConfigError } from './config/config';
import { isDatabaseUnavailable } from './database/database-errors';
import { EmbeddedServerError } from './database/embedded';
import { SchemaError } from './database/migrate';

/** What a person is told of each error that keeps the service from starting, by Node's or PostgreSQL's code. */
const SENTENCES: Readonly<Record<string, (error: Error) => string>> = {
  EADDRINUSE: (error) => `${address(error)} is already in use: stop the program that uses it, or set PORT.`,
  EADDRNOTAVAIL: (error) => `${address(error)} is not an address of this machine: set HOST.`,
  EACCES: (error) => `${address(error)} may not be used by this user: set PORT to 1024 or more.`,
  '28P01': () => 'The database refused the password: correct it in DATABASE_URL.',
  '28000': () => 'The database refused the user: correct it in DATABASE_URL.',
  '3D000': () => 'The database named in DATABASE_URL does not exist: create it, or name another.',
  '42501': () => 'The user in DATABASE_URL may not create tables: grant it CREATE on the schema.',
};

/** One sentence that says what to do, or for an error that nobody foresaw all that is known of it. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof SchemaError || error instanceof EmbeddedServerError) {
    return error.message;
  }
  if (!(error instanceof Error)) return String(error);
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
