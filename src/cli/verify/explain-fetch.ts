import { isObject, memberOf } from './json-value';

/** What `fetch` says of the ports that it blocks (Fetch standard, 2.9), whatever listens there. */
const BLOCKED_PORT = 'bad port';

/** Why a deployment gave no answer, as one sentence. */
export function explainFetch(baseUrl: string, error: unknown): string {
  const reason = reasonOf(error);
  if (reason === BLOCKED_PORT) {
    return `${baseUrl} was not asked: its port is one of those that fetch and every browser block; give the deployment another one.`;
  }
  return `${baseUrl} gives no answer (${reason}): check --base-url, and that the deployment runs.`;
}

/** `fetch` says "fetch failed" and keeps the reason as the cause; of several addresses tried, as a list. */
export function reasonOf(error: unknown): string {
  const cause = memberOf(error, 'cause');
  if (isObject(cause)) return reasonOf(cause);
  const attempts = memberOf(error, 'errors');
  if (Array.isArray(attempts) && attempts.length > 0) return reasonOf(attempts[0]);
  return String(memberOf(error, 'message') ?? error);
}
