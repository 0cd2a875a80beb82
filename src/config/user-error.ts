/** An error that the operator can fix. The program prints its message without a stack trace. */
export class UserError extends Error {}

/** The code of an error of Node.js or PostgreSQL, such as `EADDRINUSE` or `28P01`; empty if it has none. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

export function outputError({ message }: Error): UserError {
  return new UserError(
    `Standard output cannot be written (${message}). Free space on its disk, or restart its reader.`,
  );
}

/** Explains why a server cannot listen on an address. @param prefix of the settings HOST and PORT that fix it */
export function listenError(error: unknown, host: string, port: number, prefix = ''): UserError {
  const code = codeOf(error);
  const fixes: Readonly<Record<string, string>> = {
    EADDRINUSE: `is in use. Stop the program that uses it, or set ${prefix}PORT.`,
    EACCES: `is not allowed for this user. Set ${prefix}PORT to 1024 or more.`,
  };
  return new UserError(
    code in fixes
      ? `${host}:${port} ${fixes[code]}`
      : `${host} is not an address of this machine (${code}). Set ${prefix}HOST to an address of this machine.`,
  );
}
