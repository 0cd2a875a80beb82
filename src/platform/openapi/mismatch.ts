/** One way in which a response differs from the document. */
export interface Mismatch {
  /** `status`, `body`, or the name of a header in lower case. */
  readonly part: string;
  /** The place for a person: `status`, `header link`, `body /0/id`. */
  readonly where: string;
  /** Begins with "must". */
  readonly rule: string;
  readonly got: unknown;
}

/** @param responses the documented responses by status */
export function statusMismatch(
  responses: object,
  { status, text }: { readonly status: number; readonly text: string },
): Mismatch {
  const rule = `must be one of ${Object.keys(responses).join(', ')}`;
  return { part: 'status', where: 'status', rule, got: `${status} ${text}` };
}

export function headerMismatch(name: string, rule: string, got: unknown): Mismatch {
  return { part: name, where: `header ${name}`, rule, got };
}

/** @param pointer RFC 6901 */
export function bodyMismatch(pointer: string, rule: string, got: unknown): Mismatch {
  return { part: 'body', where: `body ${pointer}`.trim(), rule, got };
}

/** For a response to HEAD. */
export function emptyBodyMismatches({ text }: { readonly text: string }): Mismatch[] {
  return text === '' ? [] : [bodyMismatch('', 'must be empty after HEAD', text)];
}
