/** An error that the operator can fix. The program prints its message without a stack trace. */
export class UserError extends Error {}

/** The code of an error of Node.js or PostgreSQL, such as `EADDRINUSE` or `28P01`; empty if it has none. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/**
 * Explains why a server cannot listen on an address.
 *
 * @param settings the names of the settings that fix it
 */
export function listenError(
  error: unknown,
  host: string,
  port: number,
  settings: { readonly host: string; readonly port: string },
): UserError {
  const code = codeOf(error);
  const fixes: Readonly<Record<string, string>> = {
    EADDRINUSE: `is in use. Stop the program that uses it, or set ${settings.port}.`,
    EACCES: `is not allowed for this user. Set ${settings.port} to 1024 or more.`,
  };
  return new UserError(
    code in fixes
      ? `${host}:${port} ${fixes[code]}`
      : `${host} is not an address of this machine (${code}). Set ${settings.host} to an address of this machine.`,
  );
}
