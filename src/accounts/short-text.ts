const MAX_LENGTH = 100;

/** Explains `isShortText` after "must be" or "Give". */
export const SHORT_TEXT_RULE = `1 to ${MAX_LENGTH} characters without control characters`;

/** True for a name of an account, and for a label that is not empty. */
export function isShortText(text: string): boolean {
  const length = Array.from(text).length;
  return text.trim() !== '' && length <= MAX_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
