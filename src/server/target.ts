/** The longest request target in bytes. Node limits target and headers to 16 KiB together. */
export const TARGET_LIMIT_BYTES = 8_192;

/** The most bytes of UTF-8 for one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

const API_SEGMENT = 'v1';

/** A path without a route, deeper than a route with parameters. Targets that the router cannot handle are sent here. */
const UNROUTABLE = '/unroutable'.repeat(9);

const EMPTY_SEGMENT = /\/(?:\/|$)/;
/** `/.well-known/` is the only name with a leading dot (RFC 8615). */
const ODD_SEGMENT = /\/\/|\/\.(?!well-known\/)|\0/;

/** The prefix of most API targets, without percent-encoding. */
const API_PREFIX = `/${API_SEGMENT}/`;

/** Origin and authority of an absolute-form target (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Rewrites a target for Fastify's `rewriteUrl`: absolute form to origin form, unsupported targets to `UNROUTABLE`. */
export function rewriteTarget(request: { readonly url?: string | undefined }): string {
  const target = originForm(request.url ?? '/');
  if (isRoutable(target)) return target;
  // The guards protect every address of the API.
  return isApiPath(target) ? `/${API_SEGMENT}${UNROUTABLE}` : UNROUTABLE;
}

/**
 * True if the router treats the target as the API promises. The router sends its own response to a target that is too
 * long or undecodable, and accepts an empty segment as a parameter. Outside the API, dots and NUL could address files.
 */
function isRoutable(target: string): boolean {
  const path = decodedPath(target);
  if (!target.startsWith('/') || path === undefined || isTooLong(target)) return false;
  return isApiPath(target) ? !EMPTY_SEGMENT.test(rawPath(target)) : !ODD_SEGMENT.test(path);
}

export function isTooLong(target: string): boolean {
  // Most targets need no count.
  return (
    target.length * MAX_BYTES_PER_UNIT > TARGET_LIMIT_BYTES && Buffer.byteLength(target) > TARGET_LIMIT_BYTES
  );
}

/** Returns the percent-decoded path of a request target; undefined if it is not UTF-8. */
export function decodedPath(target: string): string | undefined {
  return decode(rawPath(target));
}

/** True if the path is `/v1` or below it, even if the rest cannot be decoded. */
export function isApiPath(target: string): boolean {
  if (target.startsWith(API_PREFIX)) return true;
  const [root, first = ''] = rawPath(target).split('/', 2);
  return root === '' && decode(first) === API_SEGMENT;
}

/** Returns the path of a request target as sent, without query and fragment. */
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
