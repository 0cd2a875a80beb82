/** An error that the operator can fix. The program prints its message without a stack trace. */
export class UserError extends Error {}

/** The code of an error of Node.js or PostgreSQL, such as `EADDRINUSE` or `28P01`; empty if it has none. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** Adds to Node's reason why a server cannot listen what to do. @param prefix of the settings HOST and PORT */
export function listenError(reason: unknown, prefix = ''): UserError {
  return new UserError(
    `The service cannot listen (${String(reason)}). Stop the program that uses the address, or set ${prefix}HOST or ${prefix}PORT.`,
  );
}
