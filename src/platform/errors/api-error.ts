import { ERROR_CODES, type ErrorCode, type FixedCode } from './error-codes';
import type { StatusCode } from './status-codes';

/** The response headers of an Error body, by name. */
export type ErrorHeaders = Readonly<Record<string, string>>;

/** The parts of an error that may depend on the request. */
interface ErrorOptions {
  /** Says what the client can fix. */
  readonly message?: string;
  readonly headers?: ErrorHeaders;
}

/**
 * An error as the client sees it. Modules name theirs in `*.errors.ts`. The request checks return it; all other code
 * throws it.
 */
export class ApiError extends Error {
  /** Machine-readable. */
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  readonly headers: ErrorHeaders;

  /** A code with a fixed message, which `options` may replace. */
  constructor(known: FixedCode | StatusCode, options?: ErrorOptions);
  /** Any code; a code without a fixed message requires one here. */
  constructor(known: ErrorCode, options: ErrorOptions & { readonly message: string });
  constructor(known: ErrorCode | StatusCode, { message, headers = {} }: ErrorOptions = {}) {
    const facts = typeof known === 'string' ? { code: known, ...ERROR_CODES[known] } : known;
    // Expected errors need no stack trace, and capturing one costs more than the response.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message ?? ('message' in facts ? facts.message : undefined));
    Error.stackTraceLimit = stackTraceLimit;
    this.code = facts.code;
    this.status = facts.status;
    this.headers = headers;
  }
}
