import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { ApiError } from '../errors/api-error';
import { errorResponse } from '../errors/error-reply';
import { headersTooLarge, malformedRequest, requestTimeout } from '../errors/http.errors';
import { COMMON_HEADERS } from './response-headers';

/** What Node's HTTP parser and timers report of a request that Fastify never sees. */
const ERRORS: Readonly<Record<string, () => ApiError>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
};

/** Fastify's `clientErrorHandler`: broken HTTP gets the Error body too, and the connection is closed. */
export function answerProtocolError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  headers: Readonly<Record<string, string>>,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = (ERRORS[error.code ?? ''] ?? malformedRequest)();
  // Nothing of a broken request can be relied on, its X-Request-Id included.
  socket.end(errorResponse(refusal, { ...COMMON_HEADERS, ...headers, 'X-Request-Id': randomUUID() }));
}
