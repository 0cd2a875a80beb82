import { ERROR_CODES, type ErrorCode } from './error-codes';

/** What goes beside an Error body: response headers by name. */
export type ErrorHeaders = Readonly<Record<string, string>>;

/**
 * A refusal or failure as the client sees it. Modules name theirs in `*.errors.ts`;
 * the checks of the door return one, everything behind them throws one.
 */
export class ApiError extends Error {
  /** HTTP status. */
  readonly status: number;
  readonly headers: ErrorHeaders;

  constructor(
    /** Machine-readable code; the table of codes gives the status, and the message unless there is another. */
    readonly code: ErrorCode,
    /** What the client can mend. */
    { message, headers = {} }: { readonly message?: string; readonly headers?: ErrorHeaders } = {},
  ) {
    const { message: usual, status } = ERROR_CODES[code];
    // A refusal is no surprise: where it was made is nobody's question, and to find out takes longer than the answer.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message ?? usual);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = status;
    this.headers = headers;
  }
}
