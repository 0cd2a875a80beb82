/** The longest request target in bytes: Node's parser accepts ASCII only, and limits target and headers together. */
export const TARGET_LIMIT_BYTES = 8_192;

const API_SEGMENT = 'v1';

/** A path without a route, deeper than a route with parameters. Targets that the router cannot handle are sent here. */
const UNROUTABLE = '/unroutable'.repeat(9);

const EMPTY_SEGMENT = /\/(?:\/|$)/;

/** Origin and authority of an absolute-form target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * Rewrites absolute form to origin form. The router has a response of its own for targets that are too long or
 * undecodable, and accepts an empty segment as a parameter, so these become `UNROUTABLE`.
 */
export function rewriteTarget({ url = '/' }: { readonly url?: string | undefined }): string {
  const target = originForm(url);
  const isApi = isApiPath(target);
  const isRoutable =
    target.startsWith('/') &&
    target.length <= TARGET_LIMIT_BYTES &&
    decodedPath(target) !== undefined &&
    !(isApi && EMPTY_SEGMENT.test(rawPath(target)));
  if (isRoutable) return target;
  // The guards protect every address of the API.
  return isApi ? `/${API_SEGMENT}${UNROUTABLE}` : UNROUTABLE;
}

/** Returns the percent-decoded path of a request target; undefined if it is not UTF-8. */
export function decodedPath(target: string): string | undefined {
  return decode(rawPath(target));
}

/** True if the path is `/v1` or below it, even if the rest cannot be decoded. */
export function isApiPath(target: string): boolean {
  const [root, first = ''] = rawPath(target).split('/', 2);
  return root === '' && decode(first) === API_SEGMENT;
}

/** Returns the path of a request target as sent, without query and fragment. */
export function rawPath(target: string): string {
  const [path = ''] = originForm(target).split(/[?#]/, 1);
  return path;
}

function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(ORIGIN, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
