import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { ApiError } from '../platform/errors/api-error';
import { platformErrors } from '../platform/errors/platform.errors';
import { inBody } from '../platform/errors/problem';
import { integralValue } from '../platform/validation/int64';
import { lineOf, pathAtEnd } from './json-places';

/** Deepest nesting of arrays and objects. The parser is recursive, so the depth is checked before it runs. */
const MAX_DEPTH = 32;

const BYTE_ORDER_MARK = '\uFEFF';

/** A number holds it exactly. */
const SHORT_INTEGER = /^-?\d{1,15}$/;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a body as JSON (RFC 8259). An int64 that a number cannot hold exactly becomes a bigint. A fraction that a
 * number would round to an integer becomes NaN. Any other number becomes a number. RFC 8259, section 4, leaves repeated
 * names to the receiver: two members of one name are rejected if their parsed values differ.
 *
 * @throws ApiError `malformed_json`
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text.startsWith(BYTE_ORDER_MARK)) throw malformedJson('it begins with a byte-order mark');
  if (isTooDeep(text)) throw malformedJson(`it is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return parse(text, undefined, { parseNumber, onDuplicateKey: (found) => rejectDuplicate(text, found) });
  } catch (error) {
    throw error instanceof ApiError ? error : syntaxError(text, error);
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformedJson('it is not valid UTF-8');
  }
}

function parseNumber(digits: string): bigint | number {
  const value = Number(digits);
  if (SHORT_INTEGER.test(digits)) return value;
  const integer = integralValue(digits);
  if (integer === undefined) return Number.isSafeInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : integer;
}

/** The parser calls this only if the two values differ, and NaN differs from itself. */
function rejectDuplicate(text: string, { key, position, oldValue, newValue }: DuplicateKeyInfo): unknown {
  if (Object.is(oldValue, newValue)) return newValue;
  // The position is that of the name within its quotes.
  const place = inBody([...pathAtEnd(text.slice(0, position - 1)), key]);
  throw errorAt(text, position, 'two members of one object have the same name and different values', place);
}

/** Keeps the position of the parser's error; its words are not for clients. */
function syntaxError(text: string, error: unknown): ApiError {
  const [, position = '0'] = /at position (\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
  return errorAt(text, Number(position), 'it cannot be parsed');
}

function errorAt(text: string, character: number, reason: string, place = inBody()): ApiError {
  const beginning = 'The body is not acceptable JSON';
  const detail = `${beginning} at ${lineOf(text, character)} (character ${character}): ${reason}`;
  const message = `${beginning}: ${reason} (at character ${character}).`;
  return platformErrors.malformed_json({ message, problems: [{ ...place, detail }] });
}

function malformedJson(reason: string): ApiError {
  const detail = `The body is not acceptable JSON: ${reason}`;
  return platformErrors.malformed_json({ message: `${detail}.`, problems: [{ ...inBody(), detail }] });
}

/** Counts brackets outside strings. Up to its first syntax error a text has the depth that the parser would see. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length && depth <= MAX_DEPTH; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
  }
  return depth > MAX_DEPTH;
}
