import type { ApiError } from './api-error';

/** Where a mistake of a request is. */
export type Place =
  /** In the body: a JSON Pointer as a URI fragment (RFC 6901, section 6). */
  | { readonly pointer: string }
  /** A parameter of the query or the path. */
  | { readonly parameter: string }
  | { readonly header: string };

/** One mistake of a request. */
export type Problem = Place & {
  /** A sentence without its full stop. It names the field. */
  readonly detail: string;
};

/** In characters. A body may have names of any length. */
export const MAX_POINTER_LENGTH = 1_024;

/** The whole body. */
const ROOT = '#';

/**
 * Returns a place in the body. A pointer that would be too long is replaced by the pointer to the whole body.
 *
 * @param path names of members and indexes of items
 */
export function inBody(path: readonly string[] = []): Place {
  const pointer = ROOT + path.map((name) => `/${encodeURIComponent(escaped(name))}`).join('');
  return { pointer: pointer.length > MAX_POINTER_LENGTH ? ROOT : pointer };
}

/** RFC 6901, section 3. A lone surrogate has no form in a URI. */
function escaped(name: string): string {
  return name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Adds the full stop that a detail lacks; a question has its mark. */
export function asSentence(detail: string): string {
  return /[.?]$/.test(detail) ? detail : `${detail}.`;
}

/** The largest number of entries in `errors`. */
export const MAX_PROBLEMS = 100;

/** Takes the problems that a response lists; a generator makes no others. */
export function firstProblems(all: Iterable<Problem>): Problem[] {
  const problems: Problem[] = [];
  for (const problem of all) if (problems.push(problem) === MAX_PROBLEMS) break;
  return problems;
}

const ACRONYMS = new Set(['api', 'json', 'uri']);

/** Returns the address of the pages: the base URL without its `/v1`. */
export const siteOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, '');

/** Returns the address below which each code has a page. */
export function problemPages(publicBaseUrl: string): string {
  return `${siteOf(publicBaseUrl)}/problems`;
}

/** Returns the members of problem details (RFC 9457, section 3.1). @param pages the address from `problemPages` */
export function problemDetails(
  error: ApiError,
  pages: string,
  requestId: string,
): Readonly<Record<string, unknown>> {
  const { code, message } = error;
  const errors = error.problems
    .slice(0, MAX_PROBLEMS)
    .map(({ detail, ...place }) => ({ ...place, detail: asSentence(detail) }));
  return {
    type: `${pages}/${code}`,
    title: titleOf(code),
    status: error.getStatus(),
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
