const MAX_LENGTH = 100;
/** Earlier versions allowed 100. */
export const MAX_NAME_LENGTH = 64;

/** Control and format characters, including bidirectional ones, and line breaks. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const rule = (max: number) =>
  `1 to ${max} characters without control and format characters, and without white space at the ends`;

/** Explains `isShortText` after "must be" or "Give". */
export const SHORT_TEXT_RULE = rule(MAX_LENGTH);

/** True for a label that is not empty. It is in NFC. */
export function isShortText(text: string, max = MAX_LENGTH): boolean {
  const length = Array.from(text).length;
  const isTrimmed = text === text.trim() && text !== '';
  return isTrimmed && length <= max && text.isWellFormed() && !UNPRINTABLE.test(text);
}

/** Explains `isAccountName` after "must be" or "Give". */
export const ACCOUNT_NAME_RULE = `${rule(MAX_NAME_LENGTH)}, other than *, . and ..`;

/**
 * True for the name of a new account. It is in NFC. `*` means all accounts, in `?account=*` of listOrders. Clients remove
 * `.` and `..` from a path (RFC 3986, 5.2.4), so that no client could send the URL of such an account.
 */
export function isAccountName(text: string): boolean {
  return isShortText(text, MAX_NAME_LENGTH) && !['*', '.', '..'].includes(text);
}
