/** A wish to copy the database that cannot be granted; the message is one sentence for a person. */
export class CopyError extends Error {}

/** What failed at, or on the way to, the database that is copied to: `cause` has the reason. */
export class TargetError extends Error {
  constructor(override readonly cause: unknown) {
    super('the copy failed', { cause });
  }
}
