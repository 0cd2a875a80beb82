import { stringify } from 'lossless-json';
import type { Mismatch } from '../../platform/openapi/mismatch';
import type { TestRequest, TestResponse } from '../http-client';
import type { TestStore } from '../test-store';
import type { ApiDocument, Operation } from './api-document';
import { isMembers } from './json-body';

/** A request to an operation. */
export interface ProbeRequest extends Omit<TestRequest, 'method'> {
  /** Below the base URL, with its query. */
  readonly path: string;
  /** The varied part, such as `name = ""`, for the sentence. */
  readonly what?: string;
  /** Default: that of the operation. */
  readonly method?: string;
}

const PROBLEM = 'application/problem+json';
const MAX_SHOWN = 100;
const MIN_SERVER_ERROR = 500;

/** Sends requests to operations, and notes each way in which the store breaks a promise. */
export class Probe {
  /** The rejections, by operation and code, of which both forms were compared. */
  private readonly comparedForms = new Set<string>();
  /** The sentences by the kind of mistake. The first value that shows a mistake is named. */
  private readonly found = new Map<string, string>();

  /** @param key a key with every scope and no limit */
  constructor(
    readonly store: TestStore,
    readonly api: ApiDocument,
    private readonly key: string,
  ) {}

  get broken(): string[] {
    return [...this.found.values()];
  }

  /** @param kind the mistake without the value that shows it */
  note(subject: string, problem: string, kind: string = problem): void {
    const mistake = `${subject} ${kind}`;
    if (!this.found.has(mistake)) this.found.set(mistake, `${subject} ${problem}.`);
  }

  /** Sends a request with a valid key, and compares the response with the document; each rejection in both forms. */
  async send(operation: Operation, request: ProbeRequest): Promise<TestResponse> {
    const response = await this.sendOnce(operation, request);
    const code = codeOf(response);
    const rejection = `${operation.title} ${code}`;
    if (code !== undefined && !isServerError(response) && !this.comparedForms.has(rejection)) {
      this.comparedForms.add(rejection);
      await this.compareForms(operation, request, response);
    }
    return response;
  }

  /** Sends a rejected request again, preferring problem details. It had no effect, so it has the same response. */
  private async compareForms(operation: Operation, request: ProbeRequest, plain: TestResponse) {
    const headers = { ...request.headers, accept: PROBLEM };
    const what = `${request.what ?? 'a rejected request'} with Accept: ${PROBLEM}`;
    const { status, text } = await this.sendOnce(operation, { ...request, headers, what });
    if (status === plain.status && codeOf({ status, text }) === codeOf(plain)) return;
    this.note(
      operation.title,
      `responds ${status} to ${what}, and ${plain.status} ${codeOf(plain)} without it`,
    );
  }

  private async sendOnce(operation: Operation, request: ProbeRequest): Promise<TestResponse> {
    const { path, what = '', method = operation.method, ...rest } = request;
    const response = await this.fetch(`/v1${path}`, { ...rest, method });
    const cause = what === '' ? '' : ` to ${what}`;
    if (isServerError(response)) {
      const error = this.lastError();
      this.note(operation.title, `responds ${response.status}${cause}: ${error}`, `5xx ${error}`);
    } else {
      const accept = rest.headers?.['accept'];
      const mismatches = this.api.conformance.mismatches(method, path, response, accept?.toString());
      // The schema of a response that the document does not have is unknown.
      const other = mismatches.find(({ part }) => part === 'status');
      for (const mismatch of other ? [other] : mismatches) {
        this.noteMismatch(operation, response, cause, mismatch);
      }
    }
    return response;
  }

  /** Waits for the end of a limit of the route: the key of the probe has no other. */
  private async fetch(path: string, request: TestRequest): Promise<TestResponse> {
    const response = await this.store.fetch(path, { key: this.key, ...request });
    if (response.status !== 429 || request.key !== undefined) return response;
    this.store.clock.advance({ seconds: Number(response.headers['retry-after']) });
    return this.store.fetch(path, { key: this.key, ...request });
  }

  private noteMismatch({ title }: Operation, { status }: TestResponse, cause: string, mismatch: Mismatch) {
    const { where, rule, got } = mismatch;
    // Items differ in their index, and have the same mistake.
    const kind = `${status} ${where.replaceAll(/\/\d+/g, '/0')} ${rule}`;
    const problem = `responds ${status}${cause}, which its document does not have: ${where} ${rule}, got ${shown(got)}`;
    this.note(title, problem, kind);
  }

  /** Returns the message of the last logged error, which explains a 500. */
  private lastError(): string {
    const { err }: { readonly err?: { readonly message?: string } } = JSON.parse(
      this.store.log.at(-1) ?? '{}',
    );
    return shortened(err?.message ?? 'the log has no cause');
  }
}

/** No operation accepts this body: the checks change nothing. */
export function bodyOf({ body }: Operation): string | undefined {
  return body === undefined ? undefined : '[]';
}

/** Returns the code of an error, in both of its forms. */
export function codeOf({ status, text }: Pick<TestResponse, 'status' | 'text'>): string | undefined {
  if (status < 400 || !text.startsWith('{')) return undefined;
  const body: unknown = JSON.parse(text);
  return isMembers(body) ? String(body['code']) : undefined;
}

function isServerError({ status }: TestResponse): boolean {
  return status >= MIN_SERVER_ERROR;
}

export function isSuccess({ status }: TestResponse): boolean {
  return status >= 200 && status < 300;
}

/** Prints a value in one short line. */
export function shown(value: unknown): string {
  const isText = typeof value === 'string' && value.trim() !== '';
  return shortened(isText ? value : (stringify(value) ?? 'nothing'));
}

function shortened(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').replace(/[.!]$/, '');
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
