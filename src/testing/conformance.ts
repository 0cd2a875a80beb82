import { prefersProblem } from '../platform/errors/media-types';
import type { ApiDocument, Content, Operation } from './api-document';
import type { TestResponse } from './http-client';
import { jsonOf, parseExactly, valueAt } from './json';
import { type Mismatch, SchemaChecker } from './schema-checker';

type Received = Pick<TestResponse, 'status' | 'headers' | 'text'>;

/** HTTP and CORS themselves add these; the document does not name them. */
const HEADERS_OF_HTTP =
  /^(access-control-expose-headers|connection|content-(length|type)|date|keep-alive|transfer-encoding|vary)$/;

const MIN_ERROR_STATUS = 400;
/** The media type of an error if the request prefers it; the other one is first in the document. */
const PROBLEM = 'application/problem+json';
/** Has the headers of every response and the Error body. */
const COMMON_ERROR = 'InternalServerError';

/** Compares responses with an OpenAPI document: status, headers and body. */
export class Conformance {
  private readonly checker: SchemaChecker;

  /**
   * @param isStrict true: headers and members that are not documented are mismatches; false: only in the Error body,
   * because proxies add headers and later versions add members
   */
  constructor(
    private readonly document: ApiDocument,
    private readonly isStrict: boolean,
  ) {
    const { schemas } = document.object.components;
    this.checker = new SchemaChecker(schemas, (name) => isStrict || name === 'Error');
  }

  /**
   * Rejects a response to a documented operation that the document does not have. Ignores responses of other addresses.
   *
   * @param target of the request, such as `/v1/pets?limit=2`
   * @throws Error that names each difference
   */
  require(method: string, target: string, received: Received, accept?: string): void {
    const responses = this.document.responsesOf(method, target);
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
    responses: Operation['responses'],
    method: string,
    received: Received,
    accept?: string,
  ): readonly Mismatch[] {
    const { status, text } = received;
    const documented = responses[status];
    const { [COMMON_ERROR]: common = {} } = this.document.object.components.responses;
    const response = this.document.follow(documented ?? common);
    const mismatches = [
      ...this.headerMismatches(response, received),
      ...mediaTypeMismatches(response, received, accept),
    ];
    if (!documented) {
      const rule = `must be one of ${Object.keys(responses).join(', ')}`;
      mismatches.unshift({ where: 'status', rule, got: `${status} ${text}` });
    }
    if (method === 'HEAD') {
      if (text !== '') mismatches.push({ where: 'body', rule: 'must be empty after HEAD', got: text });
    } else if (documented || status >= MIN_ERROR_STATUS) {
      mismatches.push(...this.bodyMismatches(response, received));
    }
    return mismatches;
  }

  private headerMismatches(response: Content, { headers }: Received): Mismatch[] {
    const documented = Object.entries(response.headers ?? {});
    const known = new Set(documented.map(([name]) => name.toLowerCase()));
    const isUnknown = (name: string) => this.isStrict && !known.has(name) && !HEADERS_OF_HTTP.test(name);
    const unknown = Object.entries(headers).filter(([name]) => isUnknown(name));
    return [
      ...unknown.map(([name, got]) => ({ where: `header ${name}`, rule: 'must not be there', got })),
      ...documented.flatMap(([title, header]): Mismatch[] => {
        const { required, schema } = this.document.follow(header);
        const name = title.toLowerCase();
        const where = `header ${name}`;
        const got = headers[name];
        if (got === undefined) return required ? [{ where, rule: 'must be there', got }] : [];
        const isNumber = schema.type === 'integer' && /^-?\d+$/.test(String(got));
        const errors = this.checker.errors(schema, isNumber ? Number(got) : got);
        return errors.map(({ rule }) => ({ where, rule, got }));
      }),
    ];
  }

  private bodyMismatches({ content = {} }: Content, { status, headers, text }: Received): Mismatch[] {
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
    if (this.isStrict && codes.length > 0 && !codes.includes(String(code))) {
      mismatches.push({ where: '/code', rule: `must be one of ${codes.join(', ')}`, got: code });
    }
    return mismatches.map((each) => ({ ...each, where: `body ${each.where}`.trim() }));
  }
}

function mediaTypeMismatches({ content = {} }: Content, { headers }: Received, accept = ''): Mismatch[] {
  const documented = Object.keys(content);
  const preferred = prefersProblem(accept) && documented.includes(PROBLEM) ? PROBLEM : documented[0];
  const got = headers['content-type'];
  if (preferred === undefined || preferred === mediaTypeOf(got)) return [];
  return [{ where: 'header content-type', rule: `must be ${preferred}`, got }];
}

function mediaTypeOf(contentType: string | readonly string[] | undefined): string {
  return String(contentType).split(';', 1).join().trim().toLowerCase();
}
