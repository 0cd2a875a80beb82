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
