import { parse } from 'lossless-json';
import type { Conformance } from '../../platform/openapi/conformance';
import type { Mismatch } from '../../platform/openapi/mismatch';
import { readBody } from './read-body';

/** A response of the deployment. */
export interface ReceivedResponse {
  /** Method and path below the base URL, such as `GET /pets?limit=1`. */
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body with its integers as bigints; undefined if it is not JSON. */
  readonly body: unknown;
  /** Time of the deployment (`Date`), or ours if it sends none; Unix seconds. */
  readonly at: number;
  /** Differences from the OpenAPI document. */
  readonly mismatches: readonly Mismatch[];
}

/** The parts of a request that its response depends on. */
interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly accept: string | undefined;
}

const PLAIN_INTEGER = /^-?\d+$/;

/**
 * Reads the body of a response and compares the response with the OpenAPI document.
 *
 * @param receivedAt our own time in milliseconds
 * @throws UserError if the body cannot be read
 */
export async function readResponse(
  { method, path, accept }: SentRequest,
  response: Response,
  receivedAt: number,
  conformance: Conformance,
): Promise<ReceivedResponse> {
  const request = `${method} ${path}`;
  const { status, headers } = response;
  const text = await readBody(request, response);
  const date = Date.parse(headers.get('date') ?? '');
  return {
    request,
    status,
    headers,
    text,
    body: parseExactly(text),
    at: Math.floor((Number.isNaN(date) ? receivedAt : date) / 1_000),
    mismatches: conformance.mismatches(
      method,
      path,
      { status, headers: Object.fromEntries(headers), text },
      accept,
    ),
  };
}

/** Finds the target of the `Link` header (RFC 8288) with this relation. */
export function linkOf({ headers }: ReceivedResponse, relation: string): string | undefined {
  for (const [, target, name] of (headers.get('link') ?? '').matchAll(/<([^>]*)>\s*;\s*rel="([^"]*)"/g)) {
    if (name === relation) return target;
  }
  return undefined;
}

/** Reads `Retry-After` in whole seconds, at least 1; undefined if it is missing or has another form. */
export function retryAfterOf({ headers }: ReceivedResponse): number | undefined {
  const seconds = headers.get('retry-after') ?? '';
  return /^[1-9]\d*$/.test(seconds) ? Number(seconds) : undefined;
}

/** Returns the elements of a body that is an array, else an empty list. */
export function itemsOf({ body }: ReceivedResponse): readonly unknown[] {
  return Array.isArray(body) ? body : [];
}

/** Parses JSON without rounding: JSON.parse would hide an int64 that the deployment rounded. */
function parseExactly(text: string): unknown {
  try {
    return parse(text, undefined, (digits) => (PLAIN_INTEGER.test(digits) ? BigInt(digits) : Number(digits)));
  } catch {
    return undefined;
  }
}
