import { isObject, memberOf } from './json-value';

/** Why a deployment gave no answer, as one sentence. */
export function explainFetch(baseUrl: string, error: unknown): string {
  return `${baseUrl} gives no answer (${reasonOf(error)}): check --base-url, and that the deployment runs.`;
}

/** `fetch` says "fetch failed" and keeps the reason as the cause; of several addresses tried, as a list. */
export function reasonOf(error: unknown): string {
  const cause = memberOf(error, 'cause');
  if (isObject(cause)) return reasonOf(cause);
  const attempts = memberOf(error, 'errors');
  if (Array.isArray(attempts) && attempts.length > 0) return reasonOf(attempts[0]);
  return String(memberOf(error, 'message') ?? error);
}
