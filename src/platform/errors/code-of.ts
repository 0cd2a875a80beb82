/** The code of an error of Node.js or PostgreSQL, such as `EADDRINUSE` or `28P01`; empty if it has none. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
