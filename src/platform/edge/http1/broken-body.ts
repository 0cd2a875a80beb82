import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../../errors/api-error';

/** The errors of broken bodies, by request. */
const errors = new WeakMap<IncomingMessage, ApiError>();

/**
 * Marks a body as broken: it violated the HTTP framing, or was too slow. Reading it, now or later, fails with this
 * error; a response that does not need the body is not changed.
 */
export function breakBody(request: IncomingMessage, error: ApiError): void {
  errors.set(request, error);
  // Without a listener the event would be an uncaught exception.
  if (request.listenerCount('error') > 0) request.emit('error', error);
}

/** Returns the error of a broken body; undefined if the body can still arrive. */
export function bodyError(request: IncomingMessage): ApiError | undefined {
  return errors.get(request);
}
