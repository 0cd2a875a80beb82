import { BodyCache, rememberEtag } from './entity-tags.js';
import { errorOf, integerIn } from './errors.js';
import { INT64_MEMBERS } from './generated/values.js';
import { parseJson, stringify } from './json.js';
import type { AnimalStoreOptions, Query, Reply, RequestOptions } from './options.js';
import { MAX_TIMER_MS, UnsentError, withRetries } from './retry.js';

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A misspelled parameter is an error (RFC 7240). */
const DEFAULT_HEADERS = [
  ['accept', 'application/json'],
  ['prefer', 'handling=strict'],
] as const;

/** Sends the requests of a client: key, body, retries, entity tags. */
export class Requests {
  private readonly baseUrl: string;
  private readonly int64Members: ReadonlySet<string>;
  private readonly cache: BodyCache;
  private readonly uncached = uncachedInit();
  private readonly timeoutMs: number;
  /** The requests that were left after the last response; undefined before the first one. */
  remaining: number | undefined;

  /** @throws TypeError for an invalid address; RangeError for an invalid timeout */
  constructor(private readonly options: AnimalStoreOptions) {
    const { href } = new URL(options.baseUrl, globalThis.location?.href);
    this.baseUrl = href.replace(/\/+$/, '');
    this.int64Members = new Set([...INT64_MEMBERS, ...(options.int64Members ?? [])]);
    this.cache = new BodyCache(options.cachedBodies ?? 0);
    const { timeoutMs = 30_000 } = options;
    this.timeoutMs = Math.min(timeoutMs, MAX_TIMER_MS);
    if (!Number.isInteger(this.timeoutMs) || this.timeoutMs < 0)
      throw new RangeError(`timeoutMs must be a whole number from 0, or Infinity; it is ${timeoutMs}.`);
  }

  /** The address of a path below the base address. */
  urlOf(path: string, query: Query = {}): URL {
    const url = new URL(`${this.baseUrl}/${path.replace(/^\/+/, '')}`);
    for (const [name, value] of Object.entries(query)) {
      for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each));
    }
    return url;
  }

  /**
   * Sends a request and repeats it as the options allow.
   *
   * @throws AnimalStoreError for an error response; the error of fetch if there was no response
   */
  async send<T>(anyMethod: string, url: URL, options: RequestOptions = {}): Promise<Reply<T>> {
    const method = anyMethod.toUpperCase();
    const headers = this.headersOf(method, options);
    const isCached = method === 'GET' && !headers.has('if-none-match');
    const cached = isCached ? this.cache.get(url.href) : undefined;
    if (cached !== undefined) headers.set('if-none-match', cached.etag);
    const body = options.body === undefined ? null : stringify(options.body);
    const init: RequestInit = { method, headers, body, redirect: 'manual', ...this.uncached };
    // A request that cannot be sent fails here, without retries: fetch has the same error for a lost connection.
    void new Request(url, init);
    if (options.signal && !(options.signal instanceof AbortSignal)) throw foreignSignal();
    const attempt = () => this.attempt(url, init, options.signal);

    const retry = options.retry ?? this.options.retry ?? {};
    const received = await (retry === false ? attempt() : withRetries(attempt, retry, options.signal));
    const isCurrent = received.status === 304 && cached !== undefined;
    const current = isCurrent ? { ...received, status: 200, text: cached.text } : received;

    const { status, headers: responseHeaders, text } = current;
    const etag = responseHeaders.get('etag') ?? undefined;
    if (isCached && etag !== undefined) this.cache.set(url.href, { etag, text });
    // The document promises this type; the client does not validate responses.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const data = this.parse(current) as T;
    rememberEtag(data, etag);
    return { status, headers: responseHeaders, data };
  }

  private headersOf(method: string, { body, headers, idempotencyKey, ifMatch }: RequestOptions): Headers {
    const result = new Headers(headers);
    for (const [name, value] of DEFAULT_HEADERS) if (!result.has(name)) result.set(name, value);
    result.set('authorization', `Bearer ${this.options.key}`);
    if (body !== undefined) result.set('content-type', 'application/json');
    if (ifMatch !== undefined) result.set('if-match', ifMatch);
    if (idempotencyKey !== undefined) result.set('idempotency-key', idempotencyKey);
    else if (method === 'POST' && !result.has('idempotency-key')) result.set('idempotency-key', randomKey());
    return result;
  }

  private async attempt(url: URL, init: RequestInit, signal: AbortSignal | undefined): Promise<Received> {
    const { fetch = globalThis.fetch } = this.options;
    const sent = { ...init, signal: withTimeout(signal, this.timeoutMs) };
    let response: Response;
    try {
      response = await fetch(url, sent);
    } catch (error) {
      throw isRequest(url, sent) ? error : foreignSignal(error);
    }
    const { status, headers } = response;
    this.remaining = integerIn(headers, 'x-ratelimit-remaining') ?? this.remaining;
    const text = await response.text();
    if (!response.ok && status !== 304) throw errorOf(status, headers, text);
    return { status, headers, text };
  }

  private parse({ status, headers, text }: Received): unknown {
    if (text === '') return undefined;
    try {
      return parseJson(text, this.int64Members);
    } catch {
      throw errorOf(status, headers, text);
    }
  }
}

/**
 * Next.js keeps the responses of fetch, also those of a key. A browser asks the service whether its copies are current;
 * older versions of Cloudflare Workers reject the option.
 */
function uncachedInit(): RequestInit {
  const init: RequestInit = { cache: 'no-store' };
  return globalThis.location === undefined && isRequest('http://localhost', init) ? init : {};
}

function isRequest(url: string | URL, init: RequestInit): boolean {
  try {
    return Boolean(new Request(url, init));
  } catch {
    return false;
  }
}

function withTimeout(signal: AbortSignal | undefined, timeoutMs: number): AbortSignal {
  try {
    const timeout = AbortSignal.timeout(timeoutMs);
    return signal ? AbortSignal.any([signal, timeout]) : timeout;
  } catch (cause) {
    if (signal && !isRequest('http://localhost', { signal })) throw foreignSignal(cause);
    const message =
      'AbortSignal.timeout or AbortSignal.any is missing. Use a newer browser, Node.js or jsdom.';
    throw new UnsentError(message, { cause });
  }
}

/** Makes the error for an AbortSignal that could not end the request. */
function foreignSignal(cause?: unknown): UnsentError {
  const message =
    'The AbortSignal is of another realm than fetch, such as jsdom. Use the one of the platform.';
  return new UnsentError(message, { cause });
}

/** A random key of 128 bits. crypto.randomUUID exists only on pages with TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
