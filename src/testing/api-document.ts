import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
} from '@nestjs/swagger';
import createRouter from 'find-my-way';
import { REQUIRED_SCOPES } from '../platform/api-docs/required-scopes';
import { parseExactly, type Place, valueAt } from './json';
import { type Mismatch, SchemaChecker } from './schema-checker';

export type Schema = SchemaObject | ReferenceObject;
export type Response = Pick<ResponseObject, 'headers' | 'content'>;

/** An operation of the document, with the facts that most promises need. */
export interface Operation extends Pick<OperationObject, 'operationId' | 'responses'> {
  /** `POST /v1/pets` */
  readonly title: string;
  readonly method: string;
  /** Below the base URL, with its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly (ParameterObject & { readonly schema: Schema })[];
  /** The schemas of the body and of the successful response. */
  readonly body: SchemaObject | undefined;
  readonly success: SchemaObject | undefined;
  /** The key needs one of them. */
  readonly scopes: readonly string[];
}

/** Later methods may change or remove what the earlier ones need. */
const METHODS = ['post', 'get', 'put', 'patch', 'delete'] as const;

/** The OpenAPI document of a store. */
export class ApiDocument {
  readonly object: OpenAPIObject;
  readonly operations: readonly Operation[];
  private readonly checker: SchemaChecker;
  private readonly schemas = new WeakMap<Schema, SchemaObject>();
  /** Knows each path under GET, as the router of the service does. */
  private readonly router = createRouter({ maxParamLength: Infinity });

  constructor(text: string) {
    // The text is a document of the store.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.object = parseExactly(text) as OpenAPIObject;
    this.checker = new SchemaChecker(this.object.components?.schemas ?? {});
    const paths = Object.entries(this.object.paths);
    this.operations = METHODS.flatMap((method) =>
      paths.flatMap(([path, { [method]: object }]) => (object ? this.operationOf(method, path, object) : [])),
    );
    for (const [path] of paths) {
      this.router.on('GET', `/v1${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, () => undefined, path);
    }
  }

  follow<T extends object>(node: T | ReferenceObject): T {
    // The document has a component of this kind there.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return '$ref' in node ? (valueAt(this.object, ...node.$ref.split('/').slice(1)) as T) : node;
  }

  /** Replaces the reference of a schema, and its `allOf`, by what they refer to. */
  schema(node: Schema): SchemaObject {
    const { allOf = [], ...own } = this.follow(node);
    const known = this.schemas.get(node);
    const schema: SchemaObject = known ?? Object.assign({}, ...allOf.map((part) => this.schema(part)), own);
    this.schemas.set(node, schema);
    return schema;
  }

  /** Lists how a JSON text differs from a schema. */
  errors(schema: Schema, json: string): readonly Mismatch[] {
    return this.checker.errors(schema, json);
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

  private operationOf(name: string, path: string, object: OperationObject): Operation {
    const method = name.toUpperCase();
    const success = Object.entries(object.responses).find(([status]) => status.startsWith('2'))?.[1];
    const schemaOf = (response: Response | ReferenceObject = {}) => {
      const { schema } = this.follow(response).content?.['application/json'] ?? {};
      return schema && this.schema(schema);
    };
    const schemas = { body: schemaOf(object.requestBody), success: schemaOf(success) };
    const parameters = (object.parameters ?? []).map((each) => ({ schema: {}, ...this.follow(each) }));
    const scopes = [valueAt(object, REQUIRED_SCOPES) ?? []].flat().map(String);
    return { ...object, title: `${method} /v1${path}`, method, path, parameters, scopes, ...schemas };
  }
}
