import { validationFailed } from '../errors/http.errors';

const MAX_LENGTH = 255;
const VISIBLE_ASCII = new RegExp(`^[\\x21-\\x7e]{1,${MAX_LENGTH}}$`);

/** A structured field string (RFC 8941, 3.3.3): quotes and backslashes in it stand behind a backslash. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Reads an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07). The quoted form, which the draft asks for,
 * and the bare one, which clients send, name the same key.
 *
 * @param header the header as Node gives it; a second one is joined by a comma and a space, and so is no key
 * @throws ApiError `validation_failed`
 */
export function parseIdempotencyKey(header: string): string {
  const key = header.startsWith('"') ? unquote(header) : header;
  if (key === undefined || !VISIBLE_ASCII.test(key)) {
    throw validationFailed([
      `Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters, given once`,
    ]);
  }
  return key;
}

function unquote(text: string): string | undefined {
  return QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1');
}
