import { type DocumentedResponse, DocumentedResponses, type ResponseDocument } from './documented-responses';
import { prefersProblem } from '../errors/media-types';
import { bodyMismatch, emptyBodyMismatches, headerMismatch, type Mismatch, statusMismatch } from './mismatch';
import { parsed } from './response-json';
import { SchemaChecker } from './schema-checker';

/** A response as it was received. */
export interface CheckedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
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

const MIN_ERROR_STATUS = 400;
/** The media type of an error if the request prefers it; the other one is first in the document. */
const PROBLEM = 'application/problem+json';
/** Has the headers of every response and the Error body. */
const COMMON_ERROR = 'InternalServerError';

/** Compares responses with an OpenAPI document: status, headers and body. */
export class Conformance {
  private readonly documented: DocumentedResponses;
  private readonly schemas: SchemaChecker;

  /**
   * @param options.isStrict true: headers and members that are not documented are mismatches; false: only in the
   * Error body, because proxies add headers and later versions add members
   */
  constructor(
    private readonly document: ResponseDocument,
    private readonly options: { readonly isStrict: boolean },
  ) {
    this.documented = new DocumentedResponses(document);
    this.schemas = new SchemaChecker(
      document.components.schemas,
      (name) => options.isStrict || name === 'Error',
    );
  }

  hasOperation(method: string, path: string): boolean {
    return this.documented.responsesOf(method, path) !== undefined;
  }

  /**
   * Lists how a response differs from the document. If the document has no such response, its headers are compared with
   * those of every response, and an error's body with the Error body.
   *
   * @param path below the base URL, with or without a query
   * @param accept the header of the request
   */
  mismatches(method: string, path: string, received: CheckedResponse, accept?: string): readonly Mismatch[] {
    const responses = this.documented.responsesOf(method, path);
    const own = this.documented.response(responses?.[received.status]);
    const response = own ?? this.document.components.responses[COMMON_ERROR] ?? {};
    const isBodyKnown = own !== undefined || received.status >= MIN_ERROR_STATUS;
    return [
      ...(responses === undefined || own !== undefined ? [] : [statusMismatch(responses, received)]),
      ...this.headerMismatches(response, received),
      ...mediaTypeMismatches(response, received, accept),
      ...(method === 'HEAD' ? emptyBodyMismatches(received) : []),
      ...(method === 'HEAD' || !isBodyKnown ? [] : this.bodyMismatches(response, received)),
    ];
  }

  private headerMismatches(response: DocumentedResponse, { headers }: CheckedResponse): Mismatch[] {
    const documented = this.documented.headers(response);
    const unknown = Object.entries(headers).filter(
      ([name]) => this.options.isStrict && !documented.has(name) && !HEADERS_OF_HTTP.has(name),
    );
    return [
      ...unknown.map(([name, got]) => headerMismatch(name, 'must not be there', got)),
      ...[...documented].flatMap(([name, { required, schema }]) => {
        const value = headers[name];
        if (value !== undefined) return this.valueMismatches(name, schema, value);
        return required === true ? [headerMismatch(name, 'must be there', undefined)] : [];
      }),
    ];
  }

  private valueMismatches(name: string, schema: object, value: string | string[]): Mismatch[] {
    const isNumber = 'type' in schema && schema.type === 'integer' && /^-?\d+$/.test(String(value));
    return this.schemas
      .errors(schema, isNumber ? Number(value) : value)
      .map(({ rule }) => headerMismatch(name, rule, value));
  }

  private bodyMismatches({ content = {} }: DocumentedResponse, received: CheckedResponse): Mismatch[] {
    const { status, headers, text } = received;
    const documented = content[mediaTypeOf(headers['content-type'])] ?? Object.values(content)[0];
    if (documented === undefined) return [];
    const body = parsed(text);
    if (body instanceof Error)
      return [bodyMismatch('', `must be JSON with int64 integers (${body.message})`, text)];
    const errors = this.schemas.errors(documented.schema, body);
    const isOtherStatus = status >= MIN_ERROR_STATUS && memberOf(body, 'status') !== status;
    return [
      ...errors.map(({ pointer, rule, got }) => bodyMismatch(pointer, rule, got)),
      ...(isOtherStatus ? [bodyMismatch('/status', `must be ${status}`, memberOf(body, 'status'))] : []),
      ...this.codeMismatches(Object.keys(documented.examples ?? {}), body),
    ];
  }

  /** A later version may add codes, so only a strict comparison rejects one that is not documented. */
  private codeMismatches(codes: readonly string[], body: unknown): Mismatch[] {
    const code = memberOf(body, 'code');
    if (!this.options.isStrict || codes.length === 0 || codes.includes(String(code))) return [];
    return [bodyMismatch('/code', `must be one of ${codes.join(', ')}`, code)];
  }
}

function mediaTypeMismatches(
  { content = {} }: DocumentedResponse,
  { headers }: CheckedResponse,
  accept: string | undefined,
): Mismatch[] {
  const documented = Object.keys(content);
  const preferred = prefersProblem(accept) && documented.includes(PROBLEM) ? PROBLEM : documented[0];
  const sent = headers['content-type'];
  if (preferred === undefined || preferred === mediaTypeOf(sent)) return [];
  return [headerMismatch('content-type', `must be ${preferred}`, sent)];
}

function mediaTypeOf(contentType: string | string[] | undefined): string {
  return String(contentType).split(';', 1).join().trim().toLowerCase();
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
