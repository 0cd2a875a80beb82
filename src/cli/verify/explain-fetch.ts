import { isObject, memberOf } from './json-value';

/** Error of `fetch` for a port that it blocks (Fetch standard, 2.9). */
const BLOCKED_PORT = 'bad port';

/** Explains in one sentence why a deployment did not respond. */
export function explainFetch(baseUrl: string, error: unknown): string {
  const reason = reasonOf(error);
  if (reason === BLOCKED_PORT) {
    return `${baseUrl} was not asked: its port is one of those that fetch and every browser block; give the deployment another one.`;
  }
  return `${baseUrl} gives no answer (${reason}): check --base-url, and that the deployment runs.`;
}

/** Finds the reason behind "fetch failed": the cause, or the first of a list if `fetch` tried several addresses. */
export function reasonOf(error: unknown): string {
  const cause = memberOf(error, 'cause');
  if (isObject(cause)) return reasonOf(cause);
  const attempts = memberOf(error, 'errors');
  if (Array.isArray(attempts) && attempts.length > 0) return reasonOf(attempts[0]);
  return String(memberOf(error, 'message') ?? error);
}
