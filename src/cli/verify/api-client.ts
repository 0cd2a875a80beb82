import { Conformance } from '../../platform/openapi/conformance';
import { readCommittedDocument } from '../../platform/openapi/documented-responses';
import { UserError } from '../../platform/errors/user-error';
import { Changes } from './changes';
import { explainFetch } from './explain-fetch';
import { oneLine } from './faults';
import { type ReceivedResponse, readResponse, retryAfterOf } from './received-response';

const MAX_RESPONSE_MS = 30_000;
const MAX_WAIT_SECONDS = 120;
const MAX_ATTEMPTS = 4;
const TOO_MANY_REQUESTS = 429;

/** Clock and messages of a verification. */
export interface Runtime {
  sleep(milliseconds: number): Promise<void>;
  now(): number;
  /** Shows a line that belongs to no promise. */
  notify(line: string): void;
}

export interface RequestOptions {
  /** Replaces the header with the key; null sends none. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged, as JSON unless the headers say otherwise. */
  readonly body?: string;
  /** False: a 429 is returned and not retried. */
  readonly isRetried?: boolean;
}

/** Sends requests to one deployment and keeps every response; retries a 429 after its `Retry-After`. */
export class ApiClient {
  /** All responses in their order, including each 429 that was retried. */
  readonly responses: ReceivedResponse[] = [];
  readonly changes = new Changes();
  /** Not strict: proxies add headers, and later versions add members. */
  private readonly conformance = new Conformance(readCommittedDocument(), { isStrict: false });
  private readonly shared = new Map<string, Promise<ReceivedResponse>>();

  constructor(
    readonly baseUrl: string,
    private readonly key: string,
    private readonly runtime: Runtime,
  ) {}

  /** Sends a request only once: promises that need the same request share its response. */
  once(method: string, path: string, options: RequestOptions = {}): Promise<ReceivedResponse> {
    const { authorization, body, headers = {} } = options;
    const request = `${method} ${path} ${authorization} ${body} ${headers['accept']}`;
    const response = this.shared.get(request) ?? this.send(method, path, options);
    this.shared.set(request, response);
    return response;
  }

  get(path: string, options: RequestOptions = {}): Promise<ReceivedResponse> {
    return this.once('GET', path, options);
  }

  post(path: string, body: string, options: RequestOptions = {}): Promise<ReceivedResponse> {
    return this.send('POST', path, { ...options, body });
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<ReceivedResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.attempt(method, path, options);
      if (response.status !== TOO_MANY_REQUESTS || options.isRetried === false) return response;
      await this.backOff(response, attempt);
    }
  }

  private async attempt(method: string, path: string, options: RequestOptions): Promise<ReceivedResponse> {
    const request = { method, path, accept: options.headers?.['accept'] };
    const head = await this.fetch(method, path, options);
    try {
      const response = await readResponse(request, head, this.runtime.now(), this.conformance);
      this.responses.push(response);
      this.changes.record(request, response, response.body);
      return response;
    } catch (error) {
      this.changes.record(request, head, undefined);
      throw error;
    }
  }

  /** Sends one request. Follows no redirect, so that the key is sent only to this deployment. */
  private async fetch(method: string, path: string, options: RequestOptions): Promise<Response> {
    const { authorization = `Bearer ${this.key}`, body, headers } = options;
    try {
      return await fetch(`${this.baseUrl}${path}`, {
        method,
        headers: {
          ...(authorization === null ? {} : { authorization }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        redirect: 'manual',
        signal: AbortSignal.timeout(MAX_RESPONSE_MS),
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw new UserError(explainFetch(this.baseUrl, error));
    }
  }

  /** Waits as `Retry-After` says, or 1, 2, 4 s without it. */
  private async backOff(response: ReceivedResponse, attempt: number): Promise<void> {
    const { request, text } = response;
    const seconds = retryAfterOf(response) ?? 2 ** (attempt - 1);
    if (attempt === MAX_ATTEMPTS || seconds > MAX_WAIT_SECONDS) {
      throw new UserError(
        `${request} is answered 429 ${oneLine(text)}. Retry in ${seconds} s, or use a key with requests remaining.`,
      );
    }
    this.runtime.notify(`429 for ${request}. Retrying in ${seconds} s.`);
    await this.runtime.sleep(seconds * 1_000);
  }
}
