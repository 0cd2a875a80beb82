import { parse } from 'lossless-json';
import { parseInt64 } from '../http/int64';

/** Returns the JSON value of a text, or the error if it has none. */
export function parsed(text: string): unknown {
  try {
    return parse(text, undefined, { parseNumber: exactNumber });
  } catch (error) {
    return error;
  }
}

/** Reads a JSON number. Ajv cannot see that a double was rounded, so an integer outside int64 is rejected here. */
function exactNumber(digits: string): number {
  const number = Number(digits);
  if (Number.isInteger(number) && parseInt64(digits) === undefined) {
    throw new Error(`${digits} is not an int64`);
  }
  return number;
}
