import { stringify } from 'lossless-json';
import type { Place } from './schema';

/** A JSON value as text: a number may have more digits than JavaScript keeps. */
export interface JsonText {
  readonly text: string;
  /** The value as the document's schemas see it. */
  readonly value: unknown;
}

const MARK = '@@value@@';

/** Prints a value as JSON; a bigint is an integer. */
export function jsonOf(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** True for a JSON object. */
export function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a body with another value at a place; undefined if the body has no such place. */
export function replaceAt(body: unknown, place: Place, { text, value }: JsonText): JsonText | undefined {
  const marked = changedAt(body, place, MARK);
  if (marked === undefined) return undefined;
  return {
    text: jsonOf(marked).replace(jsonOf(MARK), () => text),
    value: changedAt(body, place, value),
  };
}

/** Returns a body without a member. */
export function removeAt(body: unknown, place: Place): JsonText | undefined {
  const value = changedAt(body, place, undefined);
  return value === undefined ? undefined : { text: jsonOf(value), value };
}

/** Repeats each member of a body with another value. */
export function repeatMembers(body: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(body).map(
    ([name, value]) => `{${jsonOf(name)}:${jsonOf([value])},${jsonOf(body).slice(1)}`,
  );
}

function changedAt(body: unknown, [first, ...rest]: Place, value: unknown): unknown {
  if (first === undefined) return value;
  if (Array.isArray(body)) {
    const items: readonly unknown[] = body;
    return items.map((item, at) => (at === first ? changedAt(item, rest, value) : item));
  }
  if (!isMembers(body)) return undefined;
  const inner = changedAt(body[first], rest, value);
  if (inner === undefined && rest.length > 0) return undefined;
  return { ...body, [first]: inner };
}
