const MAX_LENGTH = 100;

/** Explains `isShortText` after "must be" or "Give". */
export const SHORT_TEXT_RULE = `1 to ${MAX_LENGTH} characters without control characters`;

/** True for a label that is not empty. */
export function isShortText(text: string): boolean {
  const length = Array.from(text).length;
  return text.trim() !== '' && length <= MAX_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

/** Explains `isAccountName` after "must be" or "Give". */
export const ACCOUNT_NAME_RULE = `${SHORT_TEXT_RULE}, other than *, . and ..`;

/**
 * True for a name of an account. `*` means all accounts, in `?account=*` of listOrders. Clients remove `.` and `..` from a
 * path (RFC 3986, 5.2.4), so that no client could send the URL of such an account.
 */
export function isAccountName(text: string): boolean {
  return isShortText(text) && !['*', '.', '..'].includes(text);
}
