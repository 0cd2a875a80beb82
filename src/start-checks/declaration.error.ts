/** A module declares something that would fail later; the message is one sentence that names the place and the fix. */
export class DeclarationError extends Error {}
