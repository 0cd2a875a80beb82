import { ERROR_CODES, type ErrorCode } from './error-codes';
import type { StatusCode } from './status-codes';

/** What goes beside an Error body: response headers by name. */
export type ErrorHeaders = Readonly<Record<string, string>>;

/**
 * A refusal or failure as the client sees it. Modules name theirs in `*.errors.ts`;
 * the checks of the door return one, everything behind them throws one.
 */
export class ApiError extends Error {
  /** Machine-readable. */
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  readonly headers: ErrorHeaders;

  /**
   * @param known gives the status, and the message unless there is another
   * @param message what the client can fix
   */
  constructor(
    known: ErrorCode | StatusCode,
    { message, headers = {} }: { readonly message?: string; readonly headers?: ErrorHeaders } = {},
  ) {
    const {
      code,
      message: usual,
      status,
    } = typeof known === 'string' ? { code: known, ...ERROR_CODES[known] } : known;
    // A refusal is no surprise: where it was made is nobody's question, and to find out takes longer than the answer.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message ?? usual);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}
