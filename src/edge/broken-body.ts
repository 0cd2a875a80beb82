import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../errors/api-error';

/** Requests whose body cannot arrive any more, and why. */
const broken = new WeakMap<IncomingMessage, ApiError>();

/**
 * Says that the rest of a body will not come: it broke the HTTP framing, or was too slow. Whoever reads it, now or
 * later, refuses the request in the ordinary way; an answer that needs no body stands.
 */
export function breakBody(request: IncomingMessage, refusal: ApiError): void {
  broken.set(request, refusal);
  // Without a listener the event would be an uncaught exception.
  if (request.listenerCount('error') > 0) request.emit('error', refusal);
}

/** Why the body of a request cannot arrive; undefined as long as it can. */
export function bodyFailure(request: IncomingMessage): ApiError | undefined {
  return broken.get(request);
}
