import type { RetryOptions } from './retry.js';

export interface AnimalStoreOptions {
  /** The address of the API, with its version: `https://api.example.com/v1`. In a browser it may be relative. */
  readonly baseUrl: string | URL;
  /** The API key. */
  readonly key: string;
  /** Sends a request. Default: the fetch of the platform. */
  readonly fetch?: typeof fetch;
  /** `false`: no retries. */
  readonly retry?: RetryOptions | false;
  /** The longest wait for one response, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Bodies of GET to keep in memory, which the service confirms with a 304. Default 0. A browser keeps its own. */
  readonly cachedBodies?: number;
  /** Members that are int64 in the bodies of extensions, in addition to those of the document. */
  readonly int64Members?: readonly string[];
}

export interface CallOptions {
  /** Ends the call, its waits included. */
  readonly signal?: AbortSignal;
  /** `false`: no retries of this call. */
  readonly retry?: RetryOptions | false;
}

export interface PostOptions extends CallOptions {
  /** Default: a random one. All attempts of a call have the same. */
  readonly idempotencyKey?: string;
}

export interface ChangeOptions extends CallOptions {
  /** The `ETag` that must be current: `etagOf(pet)`. Otherwise the error is 412 `precondition_failed`. */
  readonly ifMatch?: string | undefined;
}

export type Query = Readonly<Record<string, Value | readonly Value[] | undefined>>;
type Value = string | number | bigint | boolean;

/** The parameters of a query. One that may be repeated takes one value, too; a list finds its cursors itself. */
export type Filters<T extends { query?: object }> = {
  readonly [K in keyof Omit<NonNullable<T['query']>, 'cursor'>]: OneOrMore<NonNullable<T['query']>[K]>;
};
type OneOrMore<V> = V extends readonly (infer Item)[] ? Item | readonly Item[] : V;

export interface RequestOptions extends PostOptions, ChangeOptions {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply<T> {
  /** The status, such as 200; 304 if the request had its own `If-None-Match`. */
  readonly status: number;
  readonly headers: Headers;
  /** The body; undefined if the response has none. */
  readonly data: T;
}
