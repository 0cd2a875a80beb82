import type { ProblemItem } from './generated/types.js';
import type { DocumentedCode } from './generated/values.js';

/** The `code` of an error: one of the document, that of an extension, or `unexpected_response`. */
export type ErrorCode = DocumentedCode | 'unexpected_response' | (string & {});

export interface ErrorDetails {
  readonly code: ErrorCode;
  readonly status: number;
  readonly problems?: readonly ProblemItem[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
}

/** An error response. A later release may add codes: handle an unknown code by its status. */
export class AnimalStoreError extends Error implements ErrorDetails {
  override readonly name = 'AnimalStoreError';
  /** `unexpected_response` if the response is not one of the service, such as the page of a proxy. */
  readonly code: ErrorCode;
  readonly status: number;
  /** The invalid fields and parameters: `pointer`, `parameter` or `header`, and `detail`. Empty for most codes. */
  readonly problems: readonly ProblemItem[];
  /** The shortest wait before a retry, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** `X-Request-Id`, by which the service's log names the request. */
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    this.code = details.code;
    this.status = details.status;
    this.problems = details.problems ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
  }
}

/** Makes the error of a response from its body: problem details, or an Error body. */
export function errorOf(status: number, headers: Headers, text: string): AnimalStoreError {
  const { code, message, problems } = errorBodyOf(text);
  return new AnimalStoreError(message ?? unexpectedMessage(status), {
    code: code ?? 'unexpected_response',
    status,
    problems,
    retryAfterSeconds: retryAfterOf(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/** The client follows no redirect, which could make a GET of a POST. A browser hides its status: 0. */
function unexpectedMessage(status: number): string {
  const isRedirect = status < 400;
  const advice = isRedirect ? '. It is a redirect: set baseUrl to the address of the service' : '';
  return `The response is not one of the service: status ${status}${advice}.`;
}

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  readonly problems?: readonly ProblemItem[];
}

/** Empty if the text is not one of the service. */
function errorBodyOf(text: string): ErrorBody {
  try {
    const { code, detail, message = detail, errors = [] } = JSON.parse(text);
    const isErrorBody = typeof code === 'string' && typeof message === 'string' && Array.isArray(errors);
    return isErrorBody ? { code, message, problems: errors } : {};
  } catch {
    return {};
  }
}

/** Reads `Retry-After`: seconds, or a date if a proxy sent it (RFC 9110, 10.2.3). */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0);
}
