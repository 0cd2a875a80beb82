import type { ApiDocument, Operation, Response } from './api-document';
import type { TestResponse } from './http-client';
import { jsonOf, parseExactly, valueAt } from './json';
import type { Mismatch } from './schema-checker';

type Received = Pick<TestResponse, 'status' | 'headers' | 'text'>;

/** HTTP and CORS themselves add these; the document does not name them. */
const HEADERS_OF_HTTP =
  /^(access-control-expose-headers|connection|content-(length|type)|date|keep-alive|transfer-encoding|vary)$/;

/** Compares responses with an OpenAPI document: status, headers and body. */
export class Conformance {
  constructor(private readonly document: ApiDocument) {}

  /**
   * Rejects a response to a documented operation that the document does not have. Ignores responses of other addresses.
   *
   * @param target of the request, such as `/v1/pets?limit=2`
   * @throws Error that names each difference
   */
  require(method: string, target: string, received: Received): void {
    const { document } = this;
    const operation = document.at(method === 'HEAD' ? 'GET' : method, document.patternOf(target) ?? '');
    const mismatches = operation ? this.compare(operation.responses, method, received) : [];
    if (mismatches.length === 0) return;
    const lines = mismatches.map(({ where, rule, got }) => `\n  ${where}: ${rule}, got ${jsonOf(got)}`);
    throw new Error(`The document does not have this response to ${method} ${target}:${lines.join('')}`);
  }

  /** Lists how a response differs from the document; only its status if the document has no such response. */
  compare(responses: Operation['responses'], method: string, received: Received): readonly Mismatch[] {
    const { status, text } = received;
    const { [status]: documented } = responses;
    if (!documented) {
      const rule = `must be one of ${Object.keys(responses).join(', ')}`;
      return [{ where: 'status', rule, got: `${status} ${text}` }];
    }
    const response: Response = this.document.follow<Response>(documented);
    const atHead = text === '' ? [] : [{ where: 'body', rule: 'must be empty after HEAD', got: text }];
    return [
      ...this.headerMismatches(response, received),
      ...(method === 'HEAD' ? atHead : this.bodyMismatches(response, received)),
    ];
  }

  private headerMismatches({ headers: documented = {}, content = {} }: Response, { headers }: Received) {
    const known = new Map(Object.entries(documented).map(([name, header]) => [name.toLowerCase(), header]));
    const mismatches: Mismatch[] = [];
    const note = (name: string, rule: string) =>
      mismatches.push({ where: `header ${name}`, rule, got: headers[name] });
    for (const name of Object.keys(headers)) {
      if (!known.has(name) && !HEADERS_OF_HTTP.test(name)) note(name, 'must not be there');
    }
    for (const [name, header] of known) {
      const { required, schema = {} } = this.document.follow(header);
      const got = headers[name];
      if (got === undefined && required) note(name, 'must be there');
      if (got === undefined) continue;
      const isNumber =
        this.document.schema(schema).type === 'integer' && /^(0|-?[1-9]\d*)$/.test(String(got));
      const errors = this.document.errors(schema, isNumber ? String(got) : JSON.stringify(got));
      for (const { rule } of errors) note(name, rule);
    }
    const [mediaType] = Object.keys(content);
    const got = headers['content-type']?.split(';', 1).join().trim().toLowerCase();
    if (mediaType !== undefined && mediaType !== got) note('content-type', `must be ${mediaType}`);
    return mismatches;
  }

  private bodyMismatches({ content = {} }: Response, { status, text }: Received): readonly Mismatch[] {
    const [documented] = Object.values(content);
    if (documented?.schema === undefined) return [];
    let body: unknown;
    try {
      body = parseExactly(text);
    } catch (error) {
      return [{ where: 'body', rule: `must be JSON (${String(error)})`, got: text }];
    }
    const [ownStatus, code] = [valueAt(body, 'status'), valueAt(body, 'code')];
    const codes = Object.keys(documented.examples ?? {});
    const mismatches = this.document
      .errors(documented.schema, text)
      .map((each) => ({ ...each, where: `body ${each.where}`.trim() }));
    if (status >= 400 && ownStatus !== status) {
      mismatches.push({ where: 'body /status', rule: `must be ${status}`, got: ownStatus });
    }
    if (codes.length > 0 && !codes.includes(String(code))) {
      mismatches.push({ where: 'body /code', rule: `must be one of ${codes.join(', ')}`, got: code });
    }
    return mismatches;
  }
}
