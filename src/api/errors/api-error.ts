import { HttpException } from '@nestjs/common';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The parts of an error that may depend on the request. */
type ErrorOptions = {
  /** Says what the client can fix. Default: the message of the code. */
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The mistakes that the message names, each a sentence without its full stop. */
  readonly mistakes?: readonly string[];
};

/** An error as the client sees it. Modules define theirs in `*.errors.ts` by `defineErrors`, and throw it. */
export class ApiError extends HttpException {
  /** A message names every invalid field. @internal */
  static readonly MAX_MESSAGE_LENGTH = 4_096;
  override readonly name = 'ApiError';
  readonly code: string;
  readonly headers: Record<string, string>;
  readonly mistakes: readonly string[];

  constructor(
    { code, status, message: fixed }: Pick<DefinedError, 'code' | 'status'> & { readonly message: string },
    { message = fixed, headers = {}, mistakes = [] }: ErrorOptions = {},
  ) {
    const text = message.slice(0, ApiError.MAX_MESSAGE_LENGTH).toWellFormed();
    // A stack trace costs more than a response, and clients cause these errors.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super({ code, message: text, status }, status);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.headers = { ...headers };
    this.mistakes = mistakes;
  }

  /** The Error body: exactly code, message and status. */
  get body(): string {
    return JSON.stringify(this.getResponse());
  }
}

/** The facts about a `code` that do not depend on the request. */
interface CodeFacts {
  readonly status: number;
  /** When the service responds with it, in the words of the documents. */
  readonly when: string;
  /** The operations, by id, that can respond with it besides those that name it in `rejects` of `@Operation`. */
  readonly on?: readonly string[] | 'every operation';
  /** The header of its responses, and its value if that does not depend on the request. */
  readonly header?: 'Location' | 'Retry-After' | 'WWW-Authenticate';
  readonly headerValue?: string;
  /** The message of every such error. Without it each error has a message of its own. */
  readonly message?: string;
}

/** A code of the Error body. Called, it creates the error to throw. */
export interface DefinedError extends Omit<CodeFacts, 'message'> {
  readonly code: string;
}

type ErrorFactory<Facts> = Facts extends { readonly message: string }
  ? (options?: ErrorOptions) => ApiError
  : (options: ErrorOptions & { readonly message: string }) => ApiError;

/** The codes of a table, as `defineErrors` returns them. */
export type DefinedErrors<Table> = {
  readonly [Code in keyof Table]: DefinedError & ErrorFactory<Table[Code]>;
};

/**
 * Defines codes of the Error body: `throw errors.pet_not_found()`, `rejects: [errors.pet_not_found]`.
 *
 * Clients rely on a code: one may be added, but never renamed or given another status.
 */
export function defineErrors<const Table extends Readonly<Record<string, CodeFacts>>>(
  table: Table,
): DefinedErrors<Table> {
  const entries = Object.entries(table).map(([code, { message = '', ...facts }]) => {
    const { status, header, headerValue } = facts;
    const known = { code, status, message };
    const headers = header && headerValue !== undefined ? { [header]: headerValue } : {};
    const create = (options?: ErrorOptions): ApiError => new ApiError(known, { headers, ...options });
    return [code, Object.assign(create, { ...facts, code })];
  });
  return Object.fromEntries(entries);
}
