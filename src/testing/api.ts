import type { SchemaObject } from '@nestjs/swagger';
import type { ApiDocument, Operation } from './api-document';
import { sendRequest, type TestRequest, type TestResponse } from './http-client';
import { changedAt, jsonIn, jsonOf, valueAt } from './json';
import type { TestStore } from './test-store';

export interface ApiRequest extends Omit<TestRequest, 'method'> {
  /** Below the base URL, with its query. Default: of a resource of this run. */
  readonly path?: string;
  /** The varied part, such as `name = ""`, for the sentence. */
  readonly what?: string;
}

/** Checks a promise for an operation, and notes how the API breaks it. */
export type Check = (api: Api, operation: Operation) => Promise<void>;

interface Resource {
  /** Below the base URL: `/pets/7`. */
  readonly path: string;
  readonly body: unknown;
  readonly response: TestResponse;
}

/** A resource can refer to one that refers to one. */
const MAX_REFERENCES = 3;

/** The API of a test store: sends requests, creates resources, and notes each way in which it breaks a promise. */
export class Api {
  /** The operations that have succeeded. */
  readonly succeeded = new Set<Operation>();
  /** A text that is not a cursor, and a cursor of each list that was checked. */
  readonly cursors = ['abc'];
  /** The sentences by the kind of mistake. The first value that shows a mistake is named. */
  readonly faults = new Map<string, string>();
  private readonly created: Resource[] = [];
  private bodies = 0;

  /** @param key with every scope of the store */
  constructor(
    readonly document: ApiDocument,
    readonly store: TestStore,
    private readonly key: string,
  ) {}

  /** @param kind the mistake without the value that shows it */
  note({ title }: Operation, problem: string, kind = problem): void {
    const mistake = `${title} ${kind}`;
    if (!this.faults.has(mistake)) this.faults.set(mistake, `${title} ${problem}.`);
  }

  /** Notes a response with another status or code. @param cause such as `to a wrong key` */
  requires(operation: Operation, { status, text }: TestResponse, cause: string, wanted: string): void {
    const got = status < 400 ? `${status}` : `${status} ${String(valueAt(jsonIn(text), 'code'))}`;
    if (`${got} `.startsWith(`${wanted} `)) return;
    this.note(operation, `responds ${got} ${cause}, and must respond ${wanted}`);
  }

  /** Sends a request, with a new example of its body unless one is given, and compares the response with the document. */
  async send(operation: Operation, request: ApiRequest = {}): Promise<TestResponse> {
    const { path = this.pathOf(operation), what, ...rest } = request;
    const { method } = operation;
    const body = operation.body && !('body' in rest) ? await this.newBody(operation) : rest.body;
    const response = await this.request(path, { ...rest, method, body });
    const { status, text } = response;
    const problem = `responds ${status}${what === undefined ? '' : ` to ${what}`}`;
    if (status >= 500) {
      const error = shown(valueAt(jsonIn(this.store.log.at(-1) ?? ''), 'err', 'message') ?? text);
      this.note(operation, `${problem}: ${error}`, `5xx ${error}`);
      return response;
    }
    for (const { where, rule, got } of this.document.compare(operation, method, response)) {
      const difference = `which its document does not have: ${where} ${rule}, got ${shown(got)}`;
      // Items differ in their index, and have the same mistake.
      this.note(operation, `${problem}, ${difference}`, `${status} ${where.replaceAll(/\d+/g, '0')} ${rule}`);
    }
    if (isSuccess(response)) this.succeeded.add(operation);
    return response;
  }

  /** Sends a request, again if the limit of a route rejects it. @param path below the base URL, such as `/pets` */
  async request(path: string, request: TestRequest = {}): Promise<TestResponse> {
    const send = () => sendRequest(this.store.url, `/v1${path}`, { key: this.key, ...request });
    const response = await send();
    if (response.status !== 429) return response;
    this.store.clock.advance({ seconds: Number(response.headers['retry-after'] ?? 1) });
    return send();
  }

  /** Creates a resource from the documented example. @returns undefined if the store rejects it */
  async create(operation: Operation, headers: TestRequest['headers'] = {}, depth = 0) {
    const body = await this.newBody(operation, depth);
    const path = this.pathOf(operation);
    const response = await this.send(operation, { path, body, headers });
    if (!isSuccess(response)) return undefined;
    const [, linked = path] = /\/v1(\/.*)$/.exec(response.headers.location ?? '') ?? [];
    const resource = { path: linked, body, response };
    this.created.push(resource);
    return resource;
  }

  /** Creates a resource at a path with a parameter, such as `/pets/{petId}`; undefined if no operation creates one. */
  async createAt(path: string, depth = 0): Promise<Resource | undefined> {
    const operation = this.document.at('POST', parentOf(path));
    return operation && isCreation(operation) ? this.create(operation, {}, depth) : undefined;
  }

  /** Returns the example of a body with texts and times that no earlier one has, and that refers to new resources. */
  async newBody({ body: schema = {} }: Operation, depth = 0): Promise<unknown> {
    let body = this.document.exampleOf(schema);
    this.bodies += 1;
    for (const [place, field] of this.document.placesOf(schema)) {
      const old = valueAt(body, ...place);
      // A member, or an item of a list, refers to a path whose last parameter has its name.
      const name = String(place.findLast((step) => typeof step === 'string'));
      const path = this.document.operations.find((each) => each.path.endsWith(`/{${name}}`))?.path;
      const other = path && depth < MAX_REFERENCES ? await this.createAt(path, depth + 1) : undefined;
      const value = other ? (jsonIn(idOf(other)) ?? idOf(other)) : variantOf(old, field, this.bodies);
      const isValid = old !== undefined && this.document.errors(field, jsonOf(value)).length === 0;
      if (isValid) body = changedAt(body, place, value);
    }
    return body;
  }

  /**
   * Returns the path of a request to a resource of this run, with the required parameters of its query.
   *
   * @param given values of parameters, as they are written in the URL
   */
  pathOf({ path, parameters }: Operation, given: Readonly<Record<string, string>> = {}): string {
    const { created, document } = this;
    let filled = path;
    for (const { name, in: place, required, example, schema } of parameters) {
      const value = given[name] ?? encoded(example ?? document.exampleOf(schema) ?? 1);
      if (place === 'query' && (required || name in given)) filled = withQuery(filled, `${name}=${value}`);
      if (place !== 'path') continue;
      const pattern = path.slice(0, path.indexOf('}', path.indexOf(`{${name}}`)) + 1);
      const known = created.find((each) => document.patternOf(`/v1${each.path}`) === pattern);
      filled = filled.replace(`{${name}}`, () => given[name] ?? (known ? idOf(known) : value));
    }
    return filled;
  }
}

export function isSuccess({ status }: TestResponse): boolean {
  return status >= 200 && status < 300;
}

export function isCreation({ method, responses }: Operation): boolean {
  return method === 'POST' && responses['201'] !== undefined;
}

/** Adds parameters to a path, which may have a query already. */
export function withQuery(path: string, query: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

function idOf({ path }: Resource): string {
  return path.split('/').at(-1) ?? '';
}

/** Returns the path of the collection of a resource: `/pets` for `/pets/{petId}`. */
export function parentOf(path: string): string {
  return path.replace(/\/[^/]+$/, '');
}

export function encoded(value: unknown): string {
  return encodeURIComponent(typeof value === 'string' ? value : jsonOf(value));
}

/** Prints a value in one short line without control characters. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' && value.trim() !== '' ? value : jsonOf(value);
  const line = text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').replace(/[.!]$/, '');
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}

/** A later minute is also a time of the same form. Texts are in another order than ids. */
function variantOf(example: unknown, { type, format }: SchemaObject, variant: number): unknown {
  if (type !== 'string') return example;
  const time = format === 'date-time' ? Date.parse(String(example)) : NaN;
  const text = `${String(example)} ${99_999 - variant}`;
  return Number.isNaN(time) ? text : new Date(time + variant * 60_000).toISOString();
}
