import { codeOf } from './code-of';
import { UserError } from './user-error';

/** The names of the two settings with the address of a server. */
interface AddressSettings {
  readonly host: string;
  readonly port: string;
}

/**
 * Explains why a server cannot listen on an address.
 *
 * @param settings the settings that fix it
 */
export function listenError(
  error: unknown,
  host: string,
  port: number,
  settings: AddressSettings,
): UserError {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') {
    return new UserError(
      `${host}:${port} is in use. Stop the program that uses it, or set ${settings.port}.`,
    );
  }
  if (code === 'EACCES') {
    return new UserError(
      `${host}:${port} is not allowed for this user. Set ${settings.port} to 1024 or more.`,
    );
  }
  return new UserError(
    `${host} is not an address of this machine (${code}). Set ${settings.host} to an address of this machine.`,
  );
}
