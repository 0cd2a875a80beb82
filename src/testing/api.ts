import { entityTagOf } from '../platform/entity-tags/entity-tag';
import { UNTAGGED } from '../platform/validation/declare-field';
import { UserError } from '../platform/errors/user-error';
import type { ApiDocument, Operation } from './api-document';
import { Conformance } from './conformance';
import { sendRequest, type TestRequest, type TestResponse } from './http-client';
import { isObject, jsonIn, jsonOf, textOf, valueAt } from './json';
import type { TestStore } from './test-store';

export interface ApiRequest extends Omit<TestRequest, 'method'> {
  /** Below the base URL, with its query. */
  readonly path: string;
  /** The varied part, such as `name = ""`, for the sentence. */
  readonly what?: string;
}

const MAX_SHOWN = 100;
const TOO_MANY_REQUESTS = 429;
const MIN_SERVER_ERROR = 500;
const MAX_ATTEMPTS = 4;
const MAX_WAIT_SECONDS = 120;
const SLOW_MS = 1_000;
/** A busy machine can delay one response, and hardly three of one operation. */
const SLOW_RESPONSES = 3;

/** The API of a test store: sends requests, and notes each way in which it breaks a promise. */
export class Api {
  /** The operations to check, and those that have succeeded. */
  readonly operations: readonly Operation[];
  readonly succeeded = new Set<Operation>();
  /** An operation for each of its slow responses. */
  private readonly slow: Operation[] = [];
  /** The sentences by the kind of mistake. The first value that shows a mistake is named. */
  private readonly found = new Map<string, string>();
  private readonly conformance: Conformance;

  /**
   * @param key with every scope of the store
   * @param paths only operations below these paths are checked
   */
  constructor(
    readonly document: ApiDocument,
    readonly store: TestStore,
    readonly key: string,
    paths: readonly string[],
  ) {
    this.conformance = new Conformance(document);
    this.operations = document.operations.filter(({ path }) =>
      paths.some((each) => `${path}/`.startsWith(`${each}/`)),
    );
  }

  /** All sentences, in the order in which they were noted. */
  get faults(): readonly string[] {
    return [...this.found.values()];
  }

  /** @param kind the mistake without the value that shows it */
  readonly note = (subject: string, problem: string, kind: string = problem): void => {
    const mistake = `${subject} ${kind}`;
    if (!this.found.has(mistake)) this.found.set(mistake, `${subject} ${problem}.`);
  };

  /** Sends a request with the key, and compares the response with the document. */
  async send(operation: Operation, request: ApiRequest): Promise<TestResponse> {
    const { title, method } = operation;
    const { path, what = '', ...rest } = request;
    const cause = what === '' ? '' : ` to ${what}`;
    const startedAt = performance.now();
    const response = await this.request(path, { key: this.key, ...rest, method });
    if (performance.now() - startedAt > SLOW_MS) this.slow.push(operation);
    if (this.slow.filter((each) => each === operation).length === SLOW_RESPONSES) {
      this.note(title, 'takes more than a second for each response');
    }
    const { status, headers, text } = response;
    if (isSuccess(response)) this.succeeded.add(operation);
    if (status >= MIN_SERVER_ERROR) {
      const logged = valueAt(jsonIn(this.store.log.at(-1) ?? ''), 'err', 'message');
      const error = shortened(textOf(logged ?? text));
      this.note(title, `responds ${status}${cause}: ${error}`, `5xx ${error}`);
      return response;
    }
    if (isSuccess(response) && headers.etag !== undefined && headers.etag !== this.tagOf(operation, text)) {
      this.note(title, 'has an ETag that is not the hash of its body. The store sets the ETag');
    }
    const mismatches = this.conformance.compare(operation.responses, method, response);
    for (const { where, rule, got } of mismatches) {
      const problem = `responds ${status}${cause}, which its document does not have`;
      // Items differ in their index, and have the same mistake.
      const kind = `${status} ${where.replaceAll(/\/\d+/g, '/0')} ${rule}`;
      this.note(title, `${problem}: ${where} ${rule}, got ${shown(got)}`, kind);
    }
    return response;
  }

  /** @param text of a successful response */
  private tagOf({ success = {} }: Operation, text: string): string {
    const members = Object.entries(this.document.schema(success).properties ?? {});
    return entityTagOf(
      text,
      members.flatMap(([name, schema]) => (UNTAGGED in schema ? name : [])),
    );
  }

  /**
   * Sends a request, and advances the clock when a limit rejects it. Other keys have limits to check.
   *
   * @param path below the base URL, such as `/pets`
   */
  async request(path: string, request: TestRequest = { key: this.key }): Promise<TestResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await sendRequest(this.store.url, `/v1${path}`, request);
      if (response.status !== TOO_MANY_REQUESTS || request.key !== this.key) return response;
      const seconds = Number(response.headers['retry-after'] ?? 1);
      if (attempt === MAX_ATTEMPTS || !(seconds <= MAX_WAIT_SECONDS)) {
        const subject = `${request.method ?? 'GET'} /v1${path} responds 429 ${shortened(response.text)}`;
        throw new UserError(`${subject}. Retry in ${seconds} s.`);
      }
      this.store.clock.advance({ seconds });
    }
  }
}

export function codeOf({ status, text }: Pick<TestResponse, 'status' | 'text'>): string | undefined {
  const body = status < 400 ? undefined : jsonIn(text);
  return isObject(body) ? String(body['code']) : undefined;
}

export function isSuccess({ status }: TestResponse): boolean {
  return status >= 200 && status < 300;
}

/** Finds the target of the `Link` header (RFC 8288) with this relation. */
export function linkOf({ headers }: TestResponse, relation: string): string | undefined {
  const links = [...String(headers.link).matchAll(/<([^>]*)>\s*;\s*rel="([^"]*)"/g)];
  return links.find(([, , name]) => name === relation)?.[1];
}

/** Returns the path of a link below the base URL; undefined if it leads elsewhere. */
export function pathOfLink(link: string | undefined): string | undefined {
  if (link === undefined || !URL.canParse(link, 'http://localhost')) return undefined;
  const { pathname, search } = new URL(link, 'http://localhost');
  const [, path] = /^.*?\/v1(\/.*)$/.exec(pathname) ?? [];
  return path === undefined ? undefined : `${path}${search}`;
}

/** Prints a value in one short line. */
export function shown(value: unknown): string {
  const isText = typeof value === 'string' && value.trim() !== '';
  return shortened(isText ? value : value === undefined ? 'nothing' : jsonOf(value));
}

/** Shortens a text to one line without control characters. */
function shortened(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').replace(/[.!]$/, '');
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}
