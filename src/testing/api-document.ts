import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
} from '@nestjs/swagger';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import createRouter from 'find-my-way';
import { stringify } from 'lossless-json';
import { COMMON_HEADERS, headersOf } from '../api/operation/header-catalogue';
import { commonCodes, defaultCodes } from '../api/errors/common.errors';
import type { Place } from '../api/fields/json';
import type { TestResponse } from './http-client';
import { isObject, jsonIn, jsonOf, valueAt } from './json';

export type Schema = SchemaObject | ReferenceObject;
type Received = Pick<TestResponse, 'status' | 'headers' | 'text'>;

/** One way in which a value differs from its schema, or a response from the document. */
interface Mismatch {
  /** JSON pointer to a value (RFC 6901), empty for the whole; of a response: `status`, `header link`, `body /0/id`. */
  readonly where: string;
  /** Begins with "must". */
  readonly rule: string;
  readonly got: unknown;
}

/** An operation of the document, with the facts that most promises need. */
export interface Operation extends Pick<OperationObject, 'operationId' | 'responses' | 'deprecated'> {
  /** `POST /v1/pets` */
  readonly title: string;
  readonly method: string;
  /** Below the base URL, with its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly (ParameterObject & { readonly schema: Schema })[];
  readonly body: SchemaObject | undefined;
  /** The key needs one of them. */
  readonly scopes: readonly string[];
}

/** Later methods may change or remove what the earlier ones need. */
const METHODS = ['post', 'get', 'put', 'patch', 'delete'] as const;

/** HTTP and CORS themselves add these; the document does not name them. */
const HEADERS_OF_HTTP =
  /^(access-control-expose-headers|connection|content-(length|type)|date|keep-alive|transfer-encoding|vary)$/;

/** A schema may have a member of its own class. */
const MAX_DEPTH = 6;

/** The OpenAPI document of a store, with which it compares responses. */
export class ApiDocument {
  readonly object: OpenAPIObject;
  readonly operations: readonly Operation[];
  readonly errors: ReturnType<typeof schemaChecker>;
  /** Knows each path under GET, as the router of the service does. */
  private readonly router = createRouter({ maxParamLength: Infinity });

  constructor(text: string) {
    // The text is a document of the store.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.object = jsonIn(text) as OpenAPIObject;
    this.errors = schemaChecker(this.object.components?.schemas ?? {});
    const paths = Object.entries(this.object.paths);
    this.operations = METHODS.flatMap((method) =>
      paths.flatMap(([path, { [method]: object }]) => (object ? this.operationOf(method, path, object) : [])),
    );
    for (const [path] of paths)
      this.router.on('GET', `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, () => undefined, path);
  }

  follow<T extends object>(node: T | ReferenceObject): T {
    // The document has a component of this kind there.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return '$ref' in node ? (valueAt(this.object, ...node.$ref.split('/').slice(1)) as T) : node;
  }

  /** Replaces the reference of a schema, and its `allOf`, by what they refer to. */
  schema(node: Schema): SchemaObject {
    const { allOf = [], ...own } = this.follow(node);
    return Object.assign({}, ...allOf.map((part) => this.schema(part)), own);
  }

  /** Returns the example of a schema. Without one it is made of the examples of its parts. */
  exampleOf(node: Schema, depth = 0): unknown {
    const { example, enum: [first] = [], ...schema } = this.schema(node);
    const { oneOf: [variant] = [], items, properties } = schema;
    if (example !== undefined || depth > MAX_DEPTH) return example;
    if (first !== undefined) return first;
    if (variant) return this.exampleOf(variant, depth);
    if (items) return [this.exampleOf(items, depth + 1)];
    if (!properties) return undefined;
    const members = Object.entries(properties).map(([name, each]) => [name, this.exampleOf(each, depth + 1)]);
    return Object.fromEntries(members);
  }

  /** Lists the places of a body with their schemas: each member, including members of nested objects and of first items. */
  placesOf(schema: Schema, outer: Place = []): (readonly [Place, SchemaObject])[] {
    const { properties = {}, items } = this.schema(schema);
    const inner = [...Object.entries(properties), ...(items ? [[0, items] as const] : [])];
    return inner.flatMap(([step, each]) => [
      [[...outer, step], this.schema(each)],
      ...(outer.length < 6 ? this.placesOf(each, [...outer, step]) : []),
    ]);
  }

  at(method: string, path: string): Operation | undefined {
    return this.operations.find((each) => each.method === method && each.path === path);
  }

  /** Returns the path in the document of a request's target, such as `/v1/pets/7?x=1`: `/pets/{petId}`. */
  patternOf(target: string): string | undefined {
    const found = this.router.find('GET', target);
    return Object.values(found?.params ?? {}).includes('') ? undefined : found?.store;
  }

  /**
   * Rejects a response to a documented operation that the document does not have. Ignores responses of other addresses.
   *
   * @param target of the request, such as `/v1/pets?limit=2`
   * @throws Error that names each difference
   */
  require(method: string, target: string, received: Received): void {
    const operation = this.at(method === 'HEAD' ? 'GET' : method, this.patternOf(target) ?? '');
    const mismatches = operation ? this.compare(operation, method, received) : [];
    if (mismatches.length === 0) return;
    const lines = mismatches.map(({ where, rule, got }) => `\n  ${where}: ${rule}, got ${jsonOf(got)}`);
    throw new Error(`The document does not have this response to ${method} ${target}:${lines.join('')}`);
  }

  /**
   * Lists how a response differs from the document; only its status if the document has no such response. `default`
   * documents no other statuses than those of any request.
   */
  compare(operation: Operation, method: string, received: Received): readonly Mismatch[] {
    const { responses, deprecated } = operation;
    const { status, text } = received;
    const isDefault = responses[status] === undefined && defaultCodes.some((each) => each.status === status);
    const documented = isDefault ? responses.default : responses[status];
    if (!documented) {
      const rule = `must be one of ${Object.keys(responses).join(', ')}`;
      return [{ where: 'status', rule, got: `${status} ${text}` }];
    }
    const response = this.follow<ResponseObject>(documented);
    const atHead = text === '' ? [] : [{ where: 'body', rule: 'must be empty after HEAD', got: text }];
    return [
      ...this.headerMismatches(response, received, deprecated),
      ...(method === 'HEAD' ? atHead : this.bodyMismatches(response, received)),
      ...(method === 'HEAD' || status < 400 ? [] : this.errorMismatches(response, received)),
    ];
  }

  private operationOf(name: string, path: string, object: OperationObject): Operation {
    const method = name.toUpperCase();
    const { requestBody = { content: {} } } = object;
    const { schema } = this.follow(requestBody).content['application/json'] ?? {};
    const body = schema && this.schema(schema);
    const parameters = (object.parameters ?? []).map((each) => ({ schema: {}, ...this.follow(each) }));
    const scopes = [valueAt(object, 'x-required-scopes') ?? []].flat().map(String);
    return { ...object, title: `${method} /v1${path}`, method, path, parameters, scopes, body };
  }

  private headerMismatches(response: ResponseObject, { headers }: Received, deprecated = false) {
    const { headers: documented = {}, content = {} } = response;
    const ofDeprecation = deprecated && headersOf(['Link', 'Deprecation', 'Sunset']);
    const all = { ...COMMON_HEADERS, ...ofDeprecation, ...documented };
    const known = new Map(Object.entries(all).map(([name, header]) => [name.toLowerCase(), header]));
    const mismatches: Mismatch[] = [];
    const note = (name: string, rule: string) =>
      mismatches.push({ where: `header ${name}`, rule, got: headers[name] });
    for (const name of Object.keys(headers)) {
      if (!known.has(name) && !HEADERS_OF_HTTP.test(name)) note(name, 'must not be there');
    }
    for (const [name, header] of known) {
      const { required, schema = {} } = this.follow(header);
      const got = headers[name];
      if (got === undefined && required) note(name, 'must be there');
      if (got === undefined) continue;
      const isInteger = this.schema(schema).type === 'integer' && /^(0|-?[1-9]\d*)$/.test(String(got));
      const text = isInteger ? String(got) : JSON.stringify(got);
      for (const { rule } of this.errors(schema, text)) note(name, rule);
    }
    const [mediaType] = Object.keys(content);
    const got = headers['content-type']?.split(';', 1).join().trim().toLowerCase();
    if (mediaType !== undefined && mediaType !== got) note('content-type', `must be ${mediaType}`);
    return mismatches;
  }

  private bodyMismatches({ content = {} }: ResponseObject, { text }: Received): readonly Mismatch[] {
    const [documented] = Object.values(content);
    if (documented?.schema === undefined) return [];
    if (jsonIn(text) === undefined)
      return [{ where: 'body', rule: 'must be JSON without repeated names', got: text }];
    const found = this.errors(documented.schema, text);
    return found.map((each) => ({ ...each, where: `body ${each.where}`.trim() }));
  }

  /** Compares the body of an error with its status, with the codes of its description, and with the header of its code. */
  private errorMismatches({ description }: ResponseObject, { status, headers, text }: Received): Mismatch[] {
    const body = jsonIn(text);
    const [ownStatus, code] = [valueAt(body, 'status'), valueAt(body, 'code')];
    const mismatches: Mismatch[] = [];
    if (ownStatus !== status)
      mismatches.push({ where: 'body /status', rule: `must be ${status}`, got: ownStatus });
    const own = [...description.matchAll(/^- `(\w+)`: /gm)];
    const { description: shared = '' } = this.object.info;
    const ofDefault = shared.matchAll(new RegExp(`^- ${status} \`(\\w+)\`: `, 'gm'));
    const codes = (own.length > 0 ? own : [...ofDefault]).map(([, name]) => name);
    if (codes.length > 0 && !codes.includes(String(code)))
      mismatches.push({ where: 'body /code', rule: `must be one of ${codes.join(', ')}`, got: code });
    const { header } = commonCodes.find((each) => each.code === code) ?? {};
    if (header && headers[header.toLowerCase()] === undefined)
      mismatches.push({ where: `header ${header.toLowerCase()}`, rule: 'must be there', got: undefined });
    return mismatches;
  }
}

/**
 * Returns a function that lists how a value in JSON differs from a schema. Ajv gets the nearest number of each integer.
 *
 * @param schemas those that references name; an object may have only the documented members of its schema
 */
function schemaChecker(schemas: Readonly<Record<string, object>>) {
  // Stops at the first error, so that a pattern never runs on a text longer than its maxLength.
  const ajv = addFormats(new Ajv({ strict: false, verbose: true }));
  const known: Record<string, object> = JSON.parse(stringify(schemas, forAjv) ?? '');
  for (const schema of Object.values(known))
    if ('properties' in schema) Object.assign(schema, { additionalProperties: false });
  ajv.addSchema({ components: { schemas: known } }, 'openapi.json');
  const texts = new WeakMap<object, string>();
  // By their text: merged schemas are new objects each time.
  const compiled = new Map<string, ValidateFunction>();
  return (schema: object, json: string): readonly Mismatch[] => {
    const own = () =>
      (stringify(schema, forAjv) ?? '').replaceAll('"#/components', '"openapi.json#/components');
    const text = texts.get(schema) ?? own();
    texts.set(schema, text);
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    if (validate(JSON.parse(json))) return [];
    return (validate.errors ?? []).map(({ instancePath, message = 'must be valid', params, data }) => {
      const detail = [params['allowedValues'] ?? params['additionalProperty'] ?? []].flat().join(', ');
      return { where: instancePath, rule: detail === '' ? message : `${message} (${detail})`, got: data };
    });
  };
}

/** Converts a schema: Ajv knows `nullable` only next to `type`, and an exclusive bound only as a number. */
function forAjv(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { nullable, ...schema }: Record<string, unknown> = value;
  for (const bound of ['Minimum', 'Maximum']) {
    const isExclusive = schema[`exclusive${bound}`];
    // A member may have this name.
    if (typeof isExclusive !== 'boolean') continue;
    schema[`exclusive${bound}`] = isExclusive ? schema[bound.toLowerCase()] : undefined;
  }
  if ('type' in value || typeof nullable !== 'boolean') return { nullable, ...schema };
  return nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
}
