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
 * Returns a place in the body. A pointer that would be too long becomes that of the whole body.
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
