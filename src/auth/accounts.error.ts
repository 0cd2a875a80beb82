/** A wish about accounts or keys that cannot be granted; the message is one sentence for a person. */
export class AccountsError extends Error {}
