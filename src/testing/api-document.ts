import type { ParameterObject, SchemaObject } from '@nestjs/swagger';
import createRouter from 'find-my-way';
import { REQUIRED_SCOPES } from '../platform/api-docs/required-scopes';
import { parseExactly, type Place, valueAt } from './json';
import { type Mismatch, SchemaChecker } from './schema-checker';

type Named<T> = Readonly<Record<string, T>>;

interface Reference {
  readonly $ref?: string;
}

/** The parts of a schema that the promises read. */
export interface Schema
  extends Reference, Pick<SchemaObject, 'format' | 'example' | 'maxLength' | 'maxItems'> {
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly type?: string;
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly properties?: Named<Schema>;
  readonly items?: Schema;
}

export interface Parameter extends Pick<ParameterObject, 'name' | 'in' | 'required' | 'example'> {
  readonly schema: Schema;
}

/** A response, or the body of a request. */
export interface Content extends Reference {
  readonly headers?: Named<Reference & { readonly required?: boolean; readonly schema: Schema }>;
  /** By media type. `examples` has one for each error code. */
  readonly content?: Named<{ readonly schema: Schema; readonly examples?: object }>;
}

/** An operation of the document, with the facts that most promises need. */
export interface Operation {
  /** `POST /v1/pets` */
  readonly title: string;
  readonly method: string;
  /** Below the base URL, with its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly responses: Named<Content>;
  /** The schemas of the body and of the successful response. */
  readonly body: Schema | undefined;
  readonly success: Schema | undefined;
  /** The key needs one of them. */
  readonly scopes: readonly string[];
  readonly operationId?: string;
}

type OperationObject = Pick<Operation, 'responses'> &
  Partial<Operation> & { readonly requestBody?: Content; readonly [REQUIRED_SCOPES]?: readonly string[] };

/** Later methods may change or remove what the earlier ones need. */
const METHODS = ['post', 'get', 'put', 'patch', 'delete'];

/** The OpenAPI document of a store. */
export class ApiDocument {
  readonly object: {
    readonly paths: Named<Named<OperationObject>>;
    readonly components: { readonly schemas: Named<Schema> };
  };
  readonly operations: readonly Operation[];
  private readonly checker: SchemaChecker;
  private readonly schemas = new WeakMap<Schema, Schema>();
  /** Knows each path under GET, as the router of the service does. */
  private readonly router = createRouter({ maxParamLength: Infinity });

  constructor(text: string) {
    // The text is a document of the store.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.object = parseExactly(text) as ApiDocument['object'];
    this.checker = new SchemaChecker(this.object.components.schemas);
    const paths = Object.entries<Named<OperationObject>>(this.object.paths);
    this.operations = METHODS.flatMap((method) =>
      paths.flatMap(([path, { [method]: object }]) => (object ? this.operationOf(method, path, object) : [])),
    );
    for (const [path] of paths) {
      this.router.on('GET', `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, () => undefined, path);
    }
  }

  follow<T extends Reference>(node: T): T {
    // The document has a component of this kind there.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return node.$ref === undefined ? node : (valueAt(this.object, ...node.$ref.split('/').slice(1)) as T);
  }

  /** Replaces the reference of a schema, and its `allOf`, by what they refer to. */
  schema(node: Schema): Schema {
    const { allOf = [], ...own } = this.follow(node);
    const known = this.schemas.get(node);
    const schema: Schema = known ?? Object.assign({}, ...allOf.map((part) => this.schema(part)), own);
    this.schemas.set(node, schema);
    return schema;
  }

  /** Lists how a JSON text differs from a schema. */
  errors(schema: Schema, json: string): readonly Mismatch[] {
    return this.checker.errors(schema, json);
  }

  /** Lists the places of a body with their schemas: each member, including members of nested objects and of first items. */
  placesOf(schema: Schema, outer: Place = []): (readonly [Place, Schema])[] {
    const { properties = {}, items } = this.schema(schema);
    const inner = [...Object.entries<Schema>(properties), ...(items ? [[0, items] as const] : [])];
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

  private operationOf(name: string, path: string, object: OperationObject): Operation {
    const method = name.toUpperCase();
    const { parameters = [], requestBody, responses, [REQUIRED_SCOPES]: scopes = [] } = object;
    const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
    const schemaOf = (content: Content = {}) => this.follow(content).content?.['application/json']?.schema;
    const schemas = { body: schemaOf(requestBody), success: schemaOf(success) };
    return { ...object, title: `${method} /v1${path}`, method, path, parameters, scopes, ...schemas };
  }
}
