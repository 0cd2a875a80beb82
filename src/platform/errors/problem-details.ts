import type { ApiError } from './api-error';

/** The largest number of entries in `errors`. */
export const MAX_PROBLEMS = 100;

const ACRONYMS = new Set(['api', 'json', 'uri']);

/** The facts about an error that its representation needs. */
type ErrorFacts = Pick<ApiError, 'code' | 'status' | 'message' | 'problems'>;

/** Returns the address below which each code has a page. */
export function problemPages(publicBaseUrl: string): string {
  return `${publicBaseUrl.replace(/\/v1$/, '')}/problems`;
}

/**
 * Returns the members of problem details (RFC 9457, section 3.1).
 *
 * @param pages the address from `problemPages`
 */
export function problemDetails(
  { code, status, message, problems }: ErrorFacts,
  pages: string,
  requestId: string,
): Readonly<Record<string, unknown>> {
  const errors = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ detail, ...place }) => ({ ...place, detail: `${detail}.` }));
  return {
    type: `${pages}/${code}`,
    title: titleOf(code),
    status,
    detail: message,
    instance: `urn:request:${requestId}`,
    code,
    ...(errors.length > 0 && { errors }),
  };
}

/** Returns the title of a code: `invalid_api_key` is "Invalid API key". */
export function titleOf(code: string): string {
  const words = code.split('_').map((word) => (ACRONYMS.has(word) ? word.toUpperCase() : word));
  const title = words.join(' ');
  return `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
}
