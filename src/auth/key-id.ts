import { AccountsError } from './accounts.error';

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** True when the text could be the id of a key; the database refuses anything else with an error of its own. */
export function isKeyId(text: string): boolean {
  return UUID.test(text);
}

export function unknownKey(id: string): AccountsError {
  return new AccountsError(`There is no key with the id ${id}.`);
}
