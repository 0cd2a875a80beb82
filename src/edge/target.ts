/** Longest request target in bytes; Node refuses target and headers beyond 16 KiB together. */
export const TARGET_LIMIT_BYTES = 8_192;

const API_SEGMENT = 'v1';

/** No route has this path: what cannot be routed is sent here, so that the door sees it and says why. */
const UNROUTABLE = '/unroutable';

const EMPTY_SEGMENT = /\/(?:\/|$)/;
const ODD_SEGMENT = /\/\/|\/\.|\0/;

/** Below it all is the API; most targets begin with it just so. */
const API_PREFIX = `/${API_SEGMENT}/`;

/** Origin and authority of an absolute-form target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Fastify's `rewriteUrl`: absolute form becomes origin form, and what the router would choke on becomes unroutable. */
export function rewriteTarget(request: { readonly url?: string | undefined }): string {
  const target = originForm(request.url ?? '/');
  return isRoutable(target) ? target : UNROUTABLE;
}

/**
 * The router would answer an over-long or undecodable path by itself, and take an empty segment for a parameter; the
 * files of the documentation have answers of their own to dots and NUL.
 */
function isRoutable(target: string): boolean {
  const path = decodedPath(target);
  if (path === undefined || isTooLong(target)) return false;
  return isApiPath(target) ? !EMPTY_SEGMENT.test(rawPath(target)) : !ODD_SEGMENT.test(path);
}

export function isTooLong(target: string): boolean {
  return Buffer.byteLength(target) > TARGET_LIMIT_BYTES;
}

/** The path of a request target, percent-decoded; undefined where that is not UTF-8. */
export function decodedPath(target: string): string | undefined {
  return decode(rawPath(target));
}

/** True when the path belongs to the API (`/v1` and all below it), even if the rest cannot be decoded. */
export function isApiPath(target: string): boolean {
  if (target.startsWith(API_PREFIX)) return true;
  const [root, first = ''] = rawPath(target).split('/', 2);
  return root === '' && decode(first) === API_SEGMENT;
}

/** The path of a request target as it was sent, without query or fragment. */
export function rawPath(target: string): string {
  const path = originForm(target);
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
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
