/** What goes beside an Error body: response headers by name. */
export type ErrorHeaders = Readonly<Record<string, string>>;

/**
 * A refusal or failure as the client sees it. Modules name theirs in `*.errors.ts`;
 * the checks of the door return one, everything behind them throws one.
 */
export class ApiError extends Error {
  constructor(
    /** HTTP status. */
    readonly status: number,
    /** Machine-readable code, documented in the README. */
    readonly code: string,
    /** What the client can mend. */
    message: string,
    readonly headers: ErrorHeaders = {},
  ) {
    super(message);
  }
}
