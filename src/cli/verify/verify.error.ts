/** What ends a verification early, or with broken promises: the message is the sentence for the person. */
export class VerifyError extends Error {}
