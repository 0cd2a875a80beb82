import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { ApiError } from '../errors/api-error';
import { malformedJson } from '../errors/http.errors';
import { integralValue } from '../http/int64';

/** Deepest nesting of arrays and objects. The parser is recursive, so the depth is checked before it runs. */
const MAX_DEPTH = 32;

const BYTE_ORDER_MARK = '\uFEFF';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a body as JSON (RFC 8259). A number with an integral value within int64 becomes an exact bigint; any other
 * becomes a number. RFC 8259, section 4, leaves repeated names to the receiver: two members of one name are rejected
 * if their parsed values differ.
 *
 * @throws ApiError `malformed_json`
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text.startsWith(BYTE_ORDER_MARK)) throw malformedJson('it begins with a byte-order mark');
  if (isTooDeep(text)) throw malformedJson(`it is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return parse(text, undefined, { parseNumber, onDuplicateKey });
  } catch (error) {
    throw error instanceof ApiError ? error : syntaxError(error);
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
  return integralValue(digits) ?? Number(digits);
}

/** The parser calls this only if the two values differ. */
function onDuplicateKey({ position }: DuplicateKeyInfo): never {
  throw malformedJson(`two members of one object have the same name and different values ${place(position)}`);
}

/** Keeps the position of the parser's error; its words are not for clients. */
function syntaxError(error: unknown): ApiError {
  const [, position = '0'] = /at position (\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
  return malformedJson(`it cannot be parsed ${place(position)}`);
}

function place(position: number | string): string {
  return `(at character ${position})`;
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
