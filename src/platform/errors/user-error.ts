/** An error that the operator can fix. The program prints its message without a stack trace. */
export class UserError extends Error {}
