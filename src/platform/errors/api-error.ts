import { HttpException } from '@nestjs/common';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** In code points. A message names every invalid field. */
export const MAX_MESSAGE_LENGTH = 4_096;

/** The members of the Error body. */
interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** The parts of an error that may depend on the request. */
export interface ErrorOptions {
  /** Says what the client can fix. Default: the message of the code. */
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The mistakes that the message names, each a sentence without its full stop. */
  readonly mistakes?: readonly string[];
}

/** Has the fields of an `HttpException`. Like the errors of Fastify it has no stack trace, which costs more than a response. */
function Expected(this: object, response: ErrorBody, status: number): void {
  Object.assign(this, { response, status, message: response.message });
}

// The constructors of `HttpException` and `Error`, which would capture a stack trace, do not run.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const ExpectedException = Object.assign(Expected, {
  prototype: HttpException.prototype,
}) as unknown as typeof HttpException;

/** An error as the client sees it. Modules define theirs in `*.errors.ts` by `defineErrors`, and throw it. */
export class ApiError extends ExpectedException {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly headers: Record<string, string>;
  readonly mistakes: readonly string[];

  constructor(
    { code, message: fixed, status }: ErrorBody,
    { message: sentence = fixed, headers = {}, mistakes = [] }: ErrorOptions = {},
  ) {
    const isLong = sentence.length > MAX_MESSAGE_LENGTH;
    const message = isLong ? Array.from(sentence).slice(0, MAX_MESSAGE_LENGTH).join('') : sentence;
    super({ code, message, status }, status);
    this.code = code;
    this.headers = { ...headers };
    this.mistakes = mistakes;
  }

  /** The Error body: exactly code, message and status. */
  get body(): string {
    return JSON.stringify(this.getResponse());
  }
}

export function isClientError(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 500;
}
