import { parse } from 'lossless-json';
import { readBody } from './read-body';

/** One answer of the deployment, as it came over the wire. */
export interface Answer {
  /** Method and address below the base URL, as a person would write it. */
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body; its integers are bigints, read from their digits. Undefined where it is not JSON. */
  readonly body: unknown;
  /** The deployment's own time (`Date`), or where it sends none ours; Unix seconds. */
  readonly at: number;
}

const PLAIN_INTEGER = /^-?\d+$/;

/**
 * @param receivedAt our own time in milliseconds
 * @throws VerifyError where the body cannot be read
 */
export async function readAnswer(request: string, response: Response, receivedAt: number): Promise<Answer> {
  const text = await readBody(request, response);
  const date = Date.parse(response.headers.get('date') ?? '');
  return {
    request,
    status: response.status,
    headers: response.headers,
    text,
    body: parseExactly(text),
    at: Math.floor((Number.isNaN(date) ? receivedAt : date) / 1_000),
  };
}

/** The target of the `Link` header (RFC 8288) with this relation. */
export function linkOf({ headers }: Answer, relation: string): string | undefined {
  for (const [, target, name] of (headers.get('link') ?? '').matchAll(/<([^>]*)>\s*;\s*rel="([^"]*)"/g)) {
    if (name === relation) return target;
  }
  return undefined;
}

/** `Retry-After` in whole seconds, at least 1; undefined where there is none, or something else. */
export function retryAfterOf({ headers }: Answer): number | undefined {
  const seconds = headers.get('retry-after') ?? '';
  return /^[1-9]\d*$/.test(seconds) ? Number(seconds) : undefined;
}

/** The elements of a body that is an array; of any other none. */
export function itemsOf({ body }: Answer): readonly unknown[] {
  return Array.isArray(body) ? body : [];
}

/** JSON.parse would round an int64, and so hide that the deployment did. */
function parseExactly(text: string): unknown {
  try {
    return parse(text, undefined, (digits) => (PLAIN_INTEGER.test(digits) ? BigInt(digits) : Number(digits)));
  } catch {
    return undefined;
  }
}
