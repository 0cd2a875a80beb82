import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { stringify } from 'lossless-json';
import { isInt64 } from '../platform/validation/int64';
import type { ApiDocument, Content, Operation } from './api-document';
import type { TestResponse } from './http-client';
import { isObject, jsonOf, parseExactly, valueAt } from './json';

type Received = Pick<TestResponse, 'status' | 'headers' | 'text'>;

/** HTTP and CORS themselves add these; the document does not name them. */
const HEADERS_OF_HTTP =
  /^(access-control-expose-headers|connection|content-(length|type)|date|keep-alive|transfer-encoding|vary)$/;

const MIN_ERROR_STATUS = 400;

/** Compares responses with an OpenAPI document: status, headers and body. */
export class Conformance {
  private readonly checker: SchemaChecker;

  constructor(private readonly document: ApiDocument) {
    this.checker = new SchemaChecker(document.object.components.schemas, true);
  }

  /**
   * Rejects a response to a documented operation that the document does not have. Ignores responses of other addresses.
   *
   * @param target of the request, such as `/v1/pets?limit=2`
   * @throws Error that names each difference
   */
  require(method: string, target: string, received: Received): void {
    const responses = this.document.responsesOf(method, target);
    const mismatches = responses ? this.compare(responses, method, received) : [];
    if (mismatches.length === 0) return;
    const lines = mismatches.map(({ where, rule, got }) => `\n  ${where}: ${rule}, got ${jsonOf(got)}`);
    throw new Error(`The document does not have this response to ${method} ${target}:${lines.join('')}`);
  }

  /**
   * Lists how a response differs from the document; only its status if the document has no such response.
   *
   * @param responses of the operation, by status
   */
  compare(responses: Operation['responses'], method: string, received: Received): readonly Mismatch[] {
    const { status, text } = received;
    const { [status]: documented } = responses;
    if (!documented) {
      const rule = `must be one of ${Object.keys(responses).join(', ')}`;
      return [{ where: 'status', rule, got: `${status} ${text}` }];
    }
    const response = this.document.follow(documented);
    const atHead = text === '' ? [] : [{ where: 'body', rule: 'must be empty after HEAD', got: text }];
    return [
      ...this.headerMismatches(response, received),
      ...mediaTypeMismatches(response, received),
      ...(method === 'HEAD' ? atHead : this.bodyMismatches(response, received)),
    ];
  }

  private headerMismatches(response: Content, { headers }: Received): Mismatch[] {
    const documented = Object.entries(response.headers ?? {});
    const known = new Set(documented.map(([name]) => name.toLowerCase()));
    const isUnknown = (name: string) => !known.has(name) && !HEADERS_OF_HTTP.test(name);
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

  private bodyMismatches({ content = {} }: Content, { status, text }: Received): Mismatch[] {
    const [documented] = Object.values(content);
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
    if (codes.length > 0 && !codes.includes(String(code))) {
      mismatches.push({ where: '/code', rule: `must be one of ${codes.join(', ')}`, got: code });
    }
    return mismatches.map((each) => ({ ...each, where: `body ${each.where}`.trim() }));
  }
}

function mediaTypeMismatches({ content = {} }: Content, { headers }: Received): Mismatch[] {
  const [documented] = Object.keys(content);
  const got = headers['content-type'];
  const mediaType = String(got).split(';', 1).join().trim().toLowerCase();
  if (documented === undefined || documented === mediaType) return [];
  return [{ where: 'header content-type', rule: `must be ${documented}`, got }];
}

const DOCUMENT_ID = 'openapi.json';
const COMPONENTS = '"#/components';
/** The largest number below 2^63. */
const MAX_NEAR_INT64 = 2 ** 63 - 1024;
const isNearInt64 = (value: number) => Number.isInteger(value) && Math.abs(value) <= MAX_NEAR_INT64;

/** One way in which a value differs from its schema, or a response from the document. */
export interface Mismatch {
  /** JSON pointer to a value (RFC 6901), empty for the whole; of a response: `status`, `header link`, `body /0/id`. */
  readonly where: string;
  /** Begins with "must". */
  readonly rule: string;
  readonly got: unknown;
}

export class SchemaChecker {
  /** Stops at the first error, so that a pattern never runs on a text longer than its maxLength. */
  private readonly ajv = new Ajv({ strict: false, verbose: true });
  /** By the text of the schema: each operation refers to the same Error. */
  private readonly compiled = new Map<string, ValidateFunction>();
  private readonly ofSchema = new WeakMap<object, ValidateFunction>();

  /**
   * @param schemas those that references name
   * @param isClosed true if an object may have only the documented members of its schema
   */
  constructor(schemas: Readonly<Record<string, object>>, isClosed: boolean) {
    addFormats(this.ajv);
    this.ajv.addFormat('int64', { type: 'number', validate: isNearInt64 });
    const known: Record<string, object> = JSON.parse(textForAjv(schemas));
    for (const schema of Object.values(known)) {
      if (isClosed && 'properties' in schema) Object.assign(schema, { additionalProperties: false });
    }
    this.ajv.addSchema({ components: { schemas: known } }, DOCUMENT_ID);
  }

  errors(schema: object, value: unknown): readonly Mismatch[] {
    const validate = this.ofSchema.get(schema) ?? this.compile(schema);
    if (validate(withoutBigints(value))) return [];
    return (validate.errors ?? []).map(({ instancePath, message = 'must be valid', params, data }) => {
      const detail = [params['allowedValues'] ?? params['additionalProperty'] ?? []].flat().join(', ');
      return { where: instancePath, rule: detail === '' ? message : `${message} (${detail})`, got: data };
    });
  }

  private compile(schema: object): ValidateFunction {
    const text = textForAjv(schema).replaceAll(COMPONENTS, `"${DOCUMENT_ID}#/components`);
    const validate = this.compiled.get(text) ?? this.ajv.compile(JSON.parse(text));
    this.compiled.set(text, validate);
    this.ofSchema.set(schema, validate);
    return validate;
  }
}

/** Makes each bigint the nearest number, for Ajv. An int64 stays below 2^63, to which others could be rounded. */
function withoutBigints(value: unknown): unknown {
  if (isInt64(value)) return Math.max(-MAX_NEAR_INT64, Math.min(Number(value), MAX_NEAR_INT64));
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutBigints(each)]));
}

function textForAjv(schemas: object): string {
  return stringify(schemas, forAjv) ?? '';
}

/** Converts a schema: Ajv knows `nullable` only next to `type`, and an exclusive bound only as a number. */
function forAjv(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { nullable, ...schema }: Record<string, unknown> = value;
  for (const bound of ['Minimum', 'Maximum']) {
    const name = `exclusive${bound}`;
    // A member may have this name.
    if (typeof schema[name] === 'boolean')
      schema[name] = schema[name] ? schema[bound.toLowerCase()] : undefined;
  }
  if ('type' in value || typeof nullable !== 'boolean') return { nullable, ...schema };
  return nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
}
