import { parse } from 'lossless-json';
import { malformedJson } from '../errors/http.errors';
import { integralValue } from '../http/int64';
import { findContradiction } from './duplicates';

/** Deepest nesting of arrays and objects. The parser is recursive, so this is checked before it runs. */
const DEPTH_LIMIT = 32;

const BYTE_ORDER_MARK = '\uFEFF';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a body as JSON (RFC 8259). Every number with an integral value within int64 becomes a bigint, exactly;
 * any other a number. Refused: invalid UTF-8, a byte-order mark, deep nesting, and two members of one name with
 * different values (RFC 8259, 4, leaves to each reader what they mean).
 *
 * @throws ApiError `malformed_json`
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text.startsWith(BYTE_ORDER_MARK)) throw malformedJson('it begins with a byte-order mark');
  const { isTooDeep, members } = survey(text);
  if (isTooDeep) throw malformedJson(`it is nested deeper than ${DEPTH_LIMIT} levels`);
  const value = parseText(text);
  // As many members as names: none of them twice.
  if (members === countNames(value)) return value;
  const position = findContradiction(text);
  if (position === undefined) return value;
  throw malformedJson(`two members of one object have the same name and different values ${place(position)}`);
}

function parseText(text: string): unknown {
  try {
    return parse(text, undefined, { parseNumber, onDuplicateKey });
  } catch (error) {
    // It says where the text stops being JSON, in words that are not for clients.
    const [, position = '0'] = /at position (\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
    throw malformedJson(`it cannot be parsed ${place(position)}`);
  }
}

/** lossless-json calls this only for some contradictions: to it `[]` is `{}`, and rounded numbers are alike. */
function onDuplicateKey({ newValue }: { newValue: unknown }): unknown {
  return newValue;
}

function place(position: number | string): string {
  return `(at character ${position})`;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformedJson('it is not valid UTF-8');
  }
}

function parseNumber(digits: string): bigint | number {
  return integralValue(digits) ?? Number(digits);
}

/**
 * Counts brackets and members outside strings; up to the place where a text stops being JSON it sees what the parser
 * would.
 */
function survey(text: string): { readonly isTooDeep: boolean; readonly members: number } {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length && depth <= DEPTH_LIMIT; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === ':') members += 1;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth -= 1;
  }
  return { isTooDeep: depth > DEPTH_LIMIT, members };
}

/** The names of all objects in a value, however deep. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items = Object.values(value);
  let names = Array.isArray(value) ? 0 : items.length;
  for (const item of items) names += countNames(item);
  return names;
}
