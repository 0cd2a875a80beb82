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

/** Makes the error of a response from its body. */
export function errorOf(status: number, headers: Headers, text: string): AnimalStoreError {
  const { code, message } = errorBodyOf(text);
  return new AnimalStoreError(message ?? unexpectedMessage(status, headers, text), {
    code: code ?? 'unexpected_response',
    status,
    retryAfterSeconds: retryAfterOf(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/** The client follows no redirect, which could make a GET of a POST. A browser hides its status: 0. */
function unexpectedMessage(status: number, headers: Headers, text: string): string {
  const type = headers.get('content-type') ?? 'no Content-Type';
  const received = `status ${status}, ${type}, ${text === '' ? 'no body' : `"${excerptOf(text)}"`}`;
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const target = excerptOf(headers.get('location') ?? 'an unknown address');
  const advice = isRedirect
    ? ` It is a redirect to ${target}: set baseUrl to the address of the service.`
    : ' Check baseUrl, and the proxies in between.';
  return `The response is not one of the service: ${received}.${advice}`;
}

/** Returns the first characters, without control characters. */
function excerptOf(text: string): string {
  const [excerpt = ''] =
    /^.{0,100}/u.exec(
      text
        .slice(0, 1_000)
        .replaceAll(/[\s\p{C}]+/gu, ' ')
        .trim(),
    ) ?? [];
  return excerpt;
}

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
}

/** Empty if the text is not one of the service. */
function errorBodyOf(text: string): ErrorBody {
  try {
    const { code, message } = JSON.parse(text);
    return typeof code === 'string' && typeof message === 'string' ? { code, message } : {};
  } catch {
    return {};
  }
}

/** Reads a header with an integer. If a proxy adds it again, fetch has both in one text, `5, 5`: the first counts. */
export function integerIn(headers: Headers, name: string): number | undefined {
  const [, first] = /^\s*(\d+)(?:\s*,\s*\d+)*\s*$/.exec(headers.get(name) ?? '') ?? [];
  return first === undefined ? undefined : Number(first);
}

/** Reads `Retry-After`: seconds, or a date if a proxy sent it (RFC 9110, 10.2.3). */
function retryAfterOf(headers: Headers): number | undefined {
  const given = integerIn(headers, 'retry-after');
  if (given !== undefined) return given;
  const value = headers.get('retry-after')?.trim() ?? '';
  // Both dates are by the clock of the sender. A browser hides Date.
  const seconds = Math.ceil((timeOf(value) - (timeOf(headers.get('date') ?? '') || Date.now())) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0);
}

/** Parses a date of HTTP, also an obsolete form (RFC 9110, 5.6.7). `Date.parse` accepts other texts, such as `1.5`. */
function timeOf(date: string): number {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun).*\d:\d/.test(date)) return Number.NaN;
  return Date.parse(date.endsWith('GMT') ? date : `${date} GMT`);
}
