import { UserError } from '../platform/errors/user-error';

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** True if the text is a UUID. PostgreSQL would reject any other text with a syntax error. */
export function isKeyId(text: string): boolean {
  return UUID.test(text);
}

export function unknownKey(id: string): UserError {
  return new UserError(`There is no key with the id ${id}.`);
}
