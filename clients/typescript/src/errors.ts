import type { DocumentedCode } from './generated/values.js';

/** The `code` of an error: one of the document, that of an extension, or `unexpected_response`. */
export type ErrorCode = DocumentedCode | 'unexpected_response' | (string & {});

export interface ErrorDetails {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
}

/** An error response. A later release may add codes: handle an unknown code by its status. */
export class AnimalStoreError extends Error implements ErrorDetails {
  override readonly name = 'AnimalStoreError';
  /** `unexpected_response` if the response is not one of the service, such as the page of a proxy. */
  readonly code: ErrorCode;
  readonly status: number;
  /** The shortest wait before a retry, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** `X-Request-Id`, by which the service's log names the request. */
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    this.code = details.code;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
  }
}

/** Makes the error of a response from its body, if that is an Error body. */
export function errorOf(status: number, headers: Headers, text: string): AnimalStoreError {
  const { code, message } = errorBodyOf(text);
  return new AnimalStoreError(message ?? unexpectedMessage(status), {
    code: code ?? 'unexpected_response',
    status,
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

function errorBodyOf(text: string): { readonly code?: string; readonly message?: string } {
  try {
    const body: unknown = JSON.parse(text);
    const isErrorBody = typeof body === 'object' && body !== null && 'code' in body && 'message' in body;
    return isErrorBody ? { code: String(body.code), message: String(body.message) } : {};
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
