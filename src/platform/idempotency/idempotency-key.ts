import { validationFailed } from '../errors/platform.errors';

const MAX_LENGTH = 255;
const VISIBLE_ASCII = new RegExp(`^[\\x21-\\x7e]{1,${MAX_LENGTH}}$`);

/** A structured field string (RFC 8941, 3.3.3): a backslash escapes quotes and backslashes. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Reads an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07). The draft requires the quoted form, and
 * clients send the bare form; both name the same key.
 *
 * @param header the value from Node, which joins two headers with a comma and a space; the space makes it invalid
 * @throws ApiError `validation_failed`
 */
export function parseIdempotencyKey(header: string): string {
  const key = header.startsWith('"') ? unquote(header) : header;
  if (key === undefined || !VISIBLE_ASCII.test(key)) {
    const detail = `Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters, sent once`;
    throw validationFailed([{ header: 'Idempotency-Key', detail }]);
  }
  return key;
}

function unquote(text: string): string | undefined {
  return QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1');
}
