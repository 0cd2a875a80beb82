import type { OperationObject as AnyOperation, ParameterObject, SchemaObject } from '@nestjs/swagger';
import createRouter from 'find-my-way';
import { REQUIRED_SCOPES } from '../platform/api-docs/required-scopes';
import { UNCOUNTED } from '../platform/routes/route-facts';
import { type Mismatch, SchemaChecker } from './conformance';
import { parseExactly, type Place, textOf, valueAt } from './json';

type Named<T> = Readonly<Record<string, T>>;

interface Reference {
  readonly $ref?: string;
}

/** The parts of a schema that the promises read. */
export interface Schema extends Reference, Pick<SchemaObject, 'format' | 'nullable' | Bounds> {
  readonly type?: string;
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly properties?: Named<Schema>;
  readonly items?: Schema;
  readonly example?: unknown;
  readonly default?: unknown;
}

type Bounds = 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'maxItems';

export interface Parameter extends Pick<ParameterObject, 'name' | 'in' | 'required'> {
  /** In an operation: also the example of the schema. */
  readonly example?: unknown;
  readonly schema: Schema;
}

/** A response, or the body of a request. */
export interface Content extends Reference {
  readonly headers?: Named<Reference & { readonly required?: boolean; readonly schema: Schema }>;
  /** By media type. `examples` has one for each error code. */
  readonly content?: Named<{ readonly schema: Schema; readonly examples?: object }>;
}

interface OperationObject extends Pick<AnyOperation, 'operationId' | 'summary' | 'description' | 'tags'> {
  readonly [REQUIRED_SCOPES]?: readonly string[];
  readonly [UNCOUNTED]?: true;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Named<Content>;
}

interface DocumentObject {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Named<Named<OperationObject>>;
  readonly components: { readonly schemas: Named<Schema>; readonly responses: Named<Content> };
}

/** An operation of the document, with the facts that most promises need. */
export interface Operation extends OperationObject {
  /** `POST /v1/pets` */
  readonly title: string;
  readonly method: string;
  /** Below the base URL, with its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The schema of the body, if the operation takes one. */
  readonly body: Schema | undefined;
  /** The schema of the successful response, if it has a body. */
  readonly success: Schema | undefined;
  /** The key needs one of them. */
  readonly scopes: readonly string[];
}

/** Objects within objects that are checked. */
const MAX_DEPTH = 6;

/** Later methods may change or remove what the earlier ones need. */
const METHODS = ['post', 'get', 'put', 'patch', 'delete'];

export class ApiDocument {
  readonly object: DocumentObject;
  readonly operations: readonly Operation[];
  private readonly checker: SchemaChecker;
  private readonly schemas = new WeakMap<Schema, Schema>();
  /** Knows each path under GET, as the router of the service does. */
  private readonly router = createRouter({ maxParamLength: Infinity });

  /** @param text of the document */
  constructor(text: string) {
    // The text is a document of the store.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.object = parseExactly(text) as DocumentObject;
    this.checker = new SchemaChecker(this.object.components.schemas, false);
    const paths = Object.entries<Named<OperationObject>>(this.object.paths);
    this.operations = METHODS.flatMap((method) =>
      paths.flatMap(([path, { [method]: object }]) => (object ? this.operationOf(method, path, object) : [])),
    );
    for (const [path] of paths) {
      this.router.on('GET', `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, () => undefined, path);
    }
  }

  follow<T extends Reference>(node: T): T {
    if (node.$ref === undefined) return node;
    const place = node.$ref.split('/').slice(1);
    // The document has a component of this kind there.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return valueAt(this.object, ...place) as T;
  }

  /** Replaces the reference of a schema, and its `allOf`, by what they refer to. */
  schema(node: Schema): Schema {
    const known = this.schemas.get(node);
    if (known) return known;
    const { $ref, allOf = [], ...own } = node;
    const parts = $ref === undefined ? allOf : [this.follow(node), ...allOf];
    const schema: Schema = Object.assign({}, ...parts.map((part) => this.schema(part)), own);
    this.schemas.set(node, schema);
    return schema;
  }

  errors(schema: Schema, value: unknown): readonly Mismatch[] {
    return this.checker.errors(schema, value);
  }

  /** Returns the example of a value. The document has one for each object, list and enumeration that can have one. */
  exampleOf(schema: Schema): unknown {
    const { type, example, default: preset } = this.schema(schema);
    return example ?? preset ?? (type === 'array' ? [] : undefined);
  }

  /** Lists the places of a body with their schemas: each member, including members of nested objects and of first items. */
  placesOf(schema: Schema, outer: Place = []): (readonly [Place, Schema])[] {
    if (outer.length > MAX_DEPTH) return [];
    const { properties = {}, items } = this.schema(schema);
    const inner: [string | number, Schema][] = Object.entries(properties);
    if (items !== undefined) inner.push([0, items]);
    return inner.flatMap(([step, each]) => {
      const place = [...outer, step];
      return [[place, this.schema(each)], ...this.placesOf(each, place)];
    });
  }

  at(method: string, path: string): Operation | undefined {
    return this.operations.find((each) => each.method === method && each.path === path);
  }

  /** Returns the path in the document of a request's target, such as `/v1/pets/7?x=1`: `/pets/{petId}`. */
  patternOf(target: string): string | undefined {
    const found = this.router.find('GET', target);
    return Object.values(found?.params ?? {}).includes('') ? undefined : found?.store;
  }

  /** Returns the responses of an operation by status; undefined if the document has no such operation. */
  responsesOf(method: string, target: string): Operation['responses'] | undefined {
    const item = this.object.paths[this.patternOf(target) ?? ''];
    return item?.[method === 'HEAD' ? 'get' : method.toLowerCase()]?.responses;
  }

  private operationOf(name: string, path: string, object: OperationObject): Operation {
    const method = name.toUpperCase();
    const success = Object.entries(object.responses).find(([status]) => status.startsWith('2'))?.[1];
    return {
      ...object,
      title: `${method} /v1${path}`,
      method,
      path,
      parameters: (object.parameters ?? []).map((each) => ({
        ...each,
        example: each.example ?? this.exampleOf(each.schema),
      })),
      body: object.requestBody?.content?.['application/json']?.schema,
      success: success && this.follow(success).content?.['application/json']?.schema,
      scopes: object[REQUIRED_SCOPES] ?? [],
    };
  }
}

export function isList({ method, success }: Operation): boolean {
  return method === 'GET' && success?.type === 'array';
}

/** True if one request creates several resources. They belong to the list above its path. */
export function isBatch({ method, success }: Operation): boolean {
  return method === 'POST' && success?.type === 'array';
}

export function takesHeader(operation: Operation, name: string | undefined): boolean {
  return parametersIn(operation, 'header').some((parameter) => parameter.name === name);
}

export function parametersIn({ parameters }: Operation, place: string): Parameter[] {
  return parameters.filter((parameter) => parameter.in === place);
}

export function encoded(value: unknown): string {
  return encodeURIComponent(textOf(value));
}

/** Adds a parameter to a path, which may have a query already; a list is a repeated parameter. */
export function withQuery(path: string, name: string, value: unknown): string {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const text = values.map((each) => `${name}=${encoded(each)}`).join('&');
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
}
