/** The longest request target in bytes: Node's parser accepts ASCII only, and limits target and headers together. */
export const TARGET_LIMIT_BYTES = 8_192;

/** A target in origin form whose path is `/v1` or below it, in each spelling. */
const API = /^\/(?:v|%76)(?:1|%31)(?:[/?#]|$)/;

const EMPTY_SEGMENT = /\/(?:\/|$)/;

/** Origin and authority of an absolute-form target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * Rewrites absolute form to origin form. Fastify's router responds itself to an undecodable path, without hooks, and
 * accepts an empty segment as a parameter. Such paths become one without a route, which in the API has guards.
 */
export function rewriteTarget({ url = '/' }: { readonly url?: string | undefined }): string {
  const target = originForm(url);
  const isApi = API.test(target);
  const isDecodable = decodedPath(target) !== undefined;
  if (isDecodable && !(isApi && EMPTY_SEGMENT.test(rawPath(target)))) return target;
  return isApi ? '/v1/unroutable' : '/unroutable';
}

/** Returns the percent-decoded path of a request target; undefined if it is not UTF-8. */
export function decodedPath(target: string): string | undefined {
  const path = rawPath(target);
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Returns the path of a request target as sent, without query and fragment. */
export function rawPath(target: string): string {
  const [path = ''] = originForm(target).split(/[?#]/, 1);
  return path;
}

/** The `*` of OPTIONS becomes a path without a route. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(ORIGIN, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}
