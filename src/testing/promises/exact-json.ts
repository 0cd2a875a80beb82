import { isLosslessNumber, parse } from 'lossless-json';
import { isMembers } from './json-body';
import type { Place } from './schema';

/** Parses JSON; a number becomes its digits, because JavaScript would round them. */
export function parseExactly(text: string): unknown {
  return parse(text, (_key, value) => (isLosslessNumber(value) ? value.toString() : value));
}

/** Returns the value at a place; undefined if the JSON has no such place. */
export function valueAt(json: unknown, place: Place): unknown {
  return place.reduce<unknown>((outer, step) => {
    if (Array.isArray(outer)) {
      const items: readonly unknown[] = outer;
      return items[Number(step)];
    }
    return isMembers(outer) ? outer[step] : undefined;
  }, json);
}
