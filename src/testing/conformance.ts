import { prefersProblem } from '../platform/errors/media-types';
import type { ApiDocument, Content, DocumentedHeader, OperationObject } from './api-document';
import { jsonOf, parseExactly, valueAt } from './json';
import { type Mismatch, SchemaChecker } from './schema-checker';

/** A response as it was received. */
export interface CheckedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
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
  require(method: string, target: string, received: CheckedResponse, accept?: string): void {
    const path = target.replace(BASE_PATH, '');
    const responses = path === target ? undefined : this.document.responsesOf(method, path);
    const mismatches = responses ? this.compare(responses, method, received, accept) : [];
    if (mismatches.length === 0) return;
    const lines = mismatches.map(({ where, rule, got }) => `\n  ${where}: ${rule}, got ${jsonOf(got)}`);
    throw new Error(`The document does not have this response to ${method} ${target}:${lines.join('')}`);
  }

  /**
   * Lists how a response differs from the document. If the document has no such response, its headers are compared with
   * those of every response, and an error's body with the Error body.
   *
   * @param responses of the operation, by status
   * @param accept the header of the request
   */
  compare(
    responses: OperationObject['responses'],
    method: string,
    received: CheckedResponse,
    accept?: string,
  ): readonly Mismatch[] {
    const { status, text } = received;
    const documented = responses[status];
    const { [COMMON_ERROR]: common = {} } = this.document.object.components.responses;
    const response = this.document.follow(documented ?? common);
    const mismatches: Mismatch[] = [
      ...this.headerMismatches(response, received),
      ...mediaTypeMismatches(response, received, accept),
    ];
    if (!documented) {
      const rule = `must be one of ${Object.keys(responses).join(', ')}`;
      mismatches.unshift({ where: 'status', rule, got: `${status} ${text}` });
    }
    if (method === 'HEAD') {
      const empty = { where: 'body', rule: 'must be empty after HEAD', got: text };
      return text === '' ? mismatches : [...mismatches, empty];
    }
    const isBodyKnown = documented !== undefined || status >= MIN_ERROR_STATUS;
    return isBodyKnown ? [...mismatches, ...this.bodyMismatches(response, received)] : mismatches;
  }

  private headersOf(response: Content): ReadonlyMap<string, DocumentedHeader> {
    const known = this.headers.get(response);
    if (known) return known;
    const all = Object.entries<DocumentedHeader>(response.headers ?? {});
    const headers = new Map(all.map(([name, each]) => [name.toLowerCase(), this.document.follow(each)]));
    this.headers.set(response, headers);
    return headers;
  }

  private headerMismatches(response: Content, { headers }: CheckedResponse): Mismatch[] {
    const documented = this.headersOf(response);
    const unknown = Object.entries(headers).filter(
      ([name]) => this.options.isStrict && !documented.has(name) && !HEADERS_OF_HTTP.has(name),
    );
    return [
      ...unknown.map(([name, got]) => ({ where: `header ${name}`, rule: 'must not be there', got })),
      ...[...documented].flatMap(([name, { required, schema }]): Mismatch[] => {
        const where = `header ${name}`;
        const got = headers[name];
        if (got === undefined) return required ? [{ where, rule: 'must be there', got }] : [];
        const isNumber = schema.type === 'integer' && /^-?\d+$/.test(String(got));
        const errors = this.checker.errors(schema, isNumber ? Number(got) : got);
        return errors.map(({ rule }) => ({ where, rule, got }));
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
      return [{ where: 'body', rule: `must be JSON (${String(error)})`, got: text }];
    }
    const [ownStatus, code] = [valueAt(body, 'status'), valueAt(body, 'code')];
    const codes = Object.keys(documented.examples ?? {});
    const mismatches = [...this.checker.errors(documented.schema, body)];
    if (status >= MIN_ERROR_STATUS && ownStatus !== status) {
      mismatches.push({ where: '/status', rule: `must be ${status}`, got: ownStatus });
    }
    // A later version may add codes, so only a strict comparison rejects one that is not documented.
    if (this.options.isStrict && codes.length > 0 && !codes.includes(String(code))) {
      mismatches.push({ where: '/code', rule: `must be one of ${codes.join(', ')}`, got: code });
    }
    return mismatches.map((each) => ({ ...each, where: `body ${each.where}`.trim() }));
  }
}

function mediaTypeMismatches(
  { content = {} }: Content,
  { headers }: CheckedResponse,
  accept = '',
): Mismatch[] {
  const documented = Object.keys(content);
  const preferred = prefersProblem(accept) && documented.includes(PROBLEM) ? PROBLEM : documented[0];
  const got = headers['content-type'];
  if (preferred === undefined || preferred === mediaTypeOf(got)) return [];
  return [{ where: 'header content-type', rule: `must be ${preferred}`, got }];
}

function mediaTypeOf(contentType: string | readonly string[] | undefined): string {
  return String(contentType).split(';', 1).join().trim().toLowerCase();
}
