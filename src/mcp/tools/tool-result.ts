import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ApiError } from '../../platform/errors/api-error';
import type { ApiResponse } from './api-call';

/** The query parameter of the next page in a `Link` header (RFC 8288). */
const NEXT_PAGE = /<([^>]*)>\s*;[^,]*\brel="?next"?/;

const FAILED = 400;

/**
 * Makes the result of a call. The first text is the body, exactly as HTTP has it: an agent reads integers beyond 2^53
 * in it without loss. Further texts say what an agent needs from the headers; `_meta` has the same as values.
 */
export function toolResult(name: string, { status, headers, body }: ApiResponse): CallToolResult {
  if (status >= FAILED) return failure(body, headers['retry-after']);
  const cursor = cursorOf(headers['link']);
  const { etag } = headers;
  const isList = body.startsWith('[');
  const notes = [
    cursor === undefined
      ? ''
      : `More items follow: call ${name} with the same arguments and cursor "${cursor}".`,
    etag === undefined || isList ? '' : `ETag: ${etag}`,
    headers['idempotent-replayed'] === 'true'
      ? 'This is the result of an earlier call with this Idempotency-Key. This call changed nothing.'
      : '',
  ];
  return {
    content: texts([body === '' ? `Done (${status}).` : body, ...notes]),
    _meta: {
      ...(cursor !== undefined && { nextCursor: cursor }),
      ...(etag !== undefined && { etag }),
      ...remainingOf(headers),
    },
  };
}

/** Makes the result of a call that is rejected before it reaches the operation. */
export function rejection({ body, headers }: ApiError): CallToolResult {
  return failure(body, headers['Retry-After']);
}

/** @param body the Error body, or a sentence if there is no response */
export function failure(body: string, retryAfter?: string): CallToolResult {
  const seconds = retryAfter === undefined ? undefined : Number(retryAfter);
  const wait = seconds === undefined ? '' : `Wait ${seconds} seconds before the next call.`;
  return {
    isError: true,
    content: texts([body, wait]),
    ...(seconds !== undefined && { _meta: { retryAfter: seconds } }),
  };
}

function texts(all: readonly string[]): CallToolResult['content'] {
  return all.filter((text) => text !== '').map((text) => ({ type: 'text', text }));
}

function cursorOf(link: string | undefined): string | undefined {
  const [, url] = NEXT_PAGE.exec(link ?? '') ?? [];
  return url === undefined ? undefined : (new URLSearchParams(url.split('?')[1]).get('cursor') ?? undefined);
}

function remainingOf(headers: ApiResponse['headers']): { remaining?: number } {
  const remaining = headers['x-ratelimit-remaining'];
  return remaining === undefined ? {} : { remaining: Number(remaining) };
}
