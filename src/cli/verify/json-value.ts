export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of a JSON object, undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}
