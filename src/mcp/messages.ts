import { validationFailed } from '../platform/errors/http.errors';

/** In one body. The revisions of the protocol since 2025-06-18 allow one. */
const MAX_MESSAGES = 20;

/**
 * Returns the messages of a body: JSON-RPC 2.0 allows several in an array.
 *
 * @throws ApiError `validation_failed` for none or too many
 */
export function messagesOf(body: unknown): readonly unknown[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (messages.length === 0 || messages.length > MAX_MESSAGES) {
    throw validationFailed([{ pointer: '#', detail: `The body must have 1 to ${MAX_MESSAGES} messages` }]);
  }
  return messages;
}

/** Returns the method of a message; undefined for a response, and for anything else. */
export function methodOf(message: unknown): string | undefined {
  return isObject(message) && typeof message['method'] === 'string' ? message['method'] : undefined;
}

/** True if the service must answer the message, were it only with an error. */
export function isAnswered(message: unknown): boolean {
  return methodOf(message) === undefined || (isObject(message) && Object.hasOwn(message, 'id'));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
