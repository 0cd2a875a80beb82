import { prefersProblem } from '../platform/errors/media-types';
import type { ApiDocument, Content, DocumentedHeader, OperationObject } from './api-document';
import { jsonOf, parseExactly, valueAt } from './json';
import { SchemaChecker } from './schema-checker';

/** A response as it was received. */
export interface CheckedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** One way in which a response differs from the document. */
export interface Mismatch {
  /** `status`, `header link`, `body /0/id` (RFC 6901). */
  readonly where: string;
  /** Begins with "must". */
  readonly rule: string;
  readonly got: unknown;
}

/** HTTP and CORS themselves add these; the document does not name them. */
const HEADERS_OF_HTTP = new Set([
  'access-control-expose-headers',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vary',
]);

/** The router decodes `%76`. */
const BASE_PATH = /^\/(?:v|%76)(?:1|%31)(?=\/)/;

const MIN_ERROR_STATUS = 400;
/** The media type of an error if the request prefers it; the other one is first in the document. */
const PROBLEM = 'application/problem+json';
/** Has the headers of every response and the Error body. */
const COMMON_ERROR = 'InternalServerError';

/** Compares responses with an OpenAPI document: status, headers and body. */
export class Conformance {
  private readonly checker: SchemaChecker;
  /** The headers of each response, by their names in lower case. */
  private readonly headers = new WeakMap<Content, ReadonlyMap<string, DocumentedHeader>>();

  /**
   * @param options.isStrict true: headers and members that are not documented are mismatches; false: only in the
   * Error body, because proxies add headers and later versions add members
   */
  constructor(
    private readonly document: ApiDocument,
    private readonly options: { readonly isStrict: boolean },
  ) {
    const { schemas } = document.object.components;
    this.checker = new SchemaChecker(schemas, (name) => options.isStrict || name === 'Error');
  }

  /**
   * Rejects a response to a documented operation that the document does not have. Ignores responses of other addresses.
   *
   * @param target of the request, such as `/v1/pets?limit=2`
   * @throws Error that names each difference
   */
  require(method: string, target: string, response: CheckedResponse, accept?: string): void {
    const path = target.replace(BASE_PATH, '');
    if (path === target || this.document.responsesOf(method, path) === undefined) return;
    const mismatches = this.mismatches(method, path, response, accept);
    if (mismatches.length === 0) return;
    const lines = mismatches.map(({ where, rule, got }) => `\n  ${where}: ${rule}, got ${jsonOf(got)}`);
    throw new Error(`The document does not have this response to ${method} ${target}:${lines.join('')}`);
  }

  /**
   * Lists how a response differs from the document. If the document has no such response, its headers are compared with
   * those of every response, and an error's body with the Error body.
   *
   * @param path below the base URL, with or without a query
   * @param accept the header of the request
   */
  mismatches(method: string, path: string, received: CheckedResponse, accept?: string): readonly Mismatch[] {
    return this.compare(this.document.responsesOf(method, path), method, received, accept);
  }

  /** @param responses of the operation; undefined if the document does not have it */
  compare(
    responses: OperationObject['responses'] | undefined,
    method: string,
    received: CheckedResponse,
    accept?: string,
  ): readonly Mismatch[] {
    const { status, text } = received;
    const documented = responses?.[status];
    const { [COMMON_ERROR]: common = {} } = this.document.object.components.responses;
    const response = this.document.follow(documented ?? common);
    const isBodyKnown = documented !== undefined || status >= MIN_ERROR_STATUS;
    const statuses = Object.keys(responses ?? {}).join(', ');
    return [
      ...(responses && !documented
        ? [{ where: 'status', rule: `must be one of ${statuses}`, got: `${status} ${text}` }]
        : []),
      ...this.headerMismatches(response, received),
      ...mediaTypeMismatches(response, received, accept),
      ...(method === 'HEAD' && text !== '' ? [bodyMismatch('', 'must be empty after HEAD', text)] : []),
      ...(method === 'HEAD' || !isBodyKnown ? [] : this.bodyMismatches(response, received)),
    ];
  }

  private headersOf(response: Content): ReadonlyMap<string, DocumentedHeader> {
    const known = this.headers.get(response);
    if (known) return known;
    const all = Object.entries<DocumentedHeader>(response.headers ?? {});
    const headers = new Map(all.map(([name, each]) => [name.toLowerCase(), this.document.follow(each)]));
    this.headers.set(response, headers);
    return headers;
  }

  private headerMismatches(response: Content, received: CheckedResponse): Mismatch[] {
    const documented = this.headersOf(response);
    const unknown = Object.entries(received.headers).filter(
      ([name]) => this.options.isStrict && !documented.has(name) && !HEADERS_OF_HTTP.has(name),
    );
    return [
      ...unknown.map(([name, got]) => headerMismatch(name, 'must not be there', got)),
      ...[...documented].flatMap(([name, { required, schema }]) => {
        const value = received.headers[name];
        if (value === undefined) return required ? headerMismatch(name, 'must be there', value) : [];
        const isNumber = schema.type === 'integer' && /^-?\d+$/.test(String(value));
        const errors = this.checker.errors(schema, isNumber ? Number(value) : value);
        return errors.map(({ rule }) => headerMismatch(name, rule, value));
      }),
    ];
  }

  private bodyMismatches({ content = {} }: Content, { status, headers, text }: CheckedResponse): Mismatch[] {
    const documented = content[mediaTypeOf(headers['content-type'])] ?? Object.values(content)[0];
    if (documented === undefined) return [];
    let body: unknown;
    try {
      body = parseExactly(text);
    } catch (error) {
      return [bodyMismatch('', `must be JSON (${String(error)})`, text)];
    }
    const [ownStatus, code] = [valueAt(body, 'status'), valueAt(body, 'code')];
    const codes = Object.keys(documented.examples ?? {});
    const isOtherStatus = status >= MIN_ERROR_STATUS && ownStatus !== status;
    // A later version may add codes, so only a strict comparison rejects one that is not documented.
    const isOtherCode = this.options.isStrict && codes.length > 0 && !codes.includes(String(code));
    const errors = this.checker.errors(documented.schema, body);
    return [
      ...errors.map(({ pointer, rule, got }) => bodyMismatch(pointer, rule, got)),
      ...(isOtherStatus ? [bodyMismatch('/status', `must be ${status}`, ownStatus)] : []),
      ...(isOtherCode ? [bodyMismatch('/code', `must be one of ${codes.join(', ')}`, code)] : []),
    ];
  }
}

function mediaTypeMismatches(
  { content = {} }: Content,
  { headers }: CheckedResponse,
  accept: string | undefined,
): Mismatch[] {
  const documented = Object.keys(content);
  const preferred = prefersProblem(accept) && documented.includes(PROBLEM) ? PROBLEM : documented[0];
  const sent = headers['content-type'];
  if (preferred === undefined || preferred === mediaTypeOf(sent)) return [];
  return [headerMismatch('content-type', `must be ${preferred}`, sent)];
}

function headerMismatch(name: string, rule: string, got: unknown): Mismatch {
  return { where: `header ${name}`, rule, got };
}

function bodyMismatch(pointer: string, rule: string, got: unknown): Mismatch {
  return { where: `body ${pointer}`.trim(), rule, got };
}

function mediaTypeOf(contentType: string | readonly string[] | undefined): string {
  return String(contentType).split(';', 1).join().trim().toLowerCase();
}
