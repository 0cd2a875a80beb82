import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';
import { REQUIRED_SCOPES } from '../../platform/api-docs/required-scopes';
import { UNCOUNTED } from '../../platform/api-docs/uncounted.decorator';
import { Conformance } from '../../platform/openapi/conformance';
import type { ResponseDocument } from '../../platform/openapi/documented-responses';
import { type SchemaError, SchemaChecker } from '../../platform/openapi/schema-checker';
import { type Place, placesOf, type Schema, type Schemas } from './schema';

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

interface Content {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: { readonly 'application/json'?: { readonly schema?: Schema } };
}

/** An operation as the document has it. */
export interface OperationObject {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly [REQUIRED_SCOPES]?: readonly string[];
  readonly [UNCOUNTED]?: true;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/** The document of a store. */
export interface StoreDocument {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Schemas };
}

/** An operation of the document, with the facts that most promises need. */
export interface Operation {
  /** `POST /v1/pets` */
  readonly title: string;
  readonly method: string;
  /** Below the base URL, with its parameters in braces. */
  readonly path: string;
  readonly object: OperationObject;
  readonly parameters: readonly Parameter[];
  /** The schema of the body, if the operation takes one. */
  readonly body: Schema | undefined;
  /** The schema of the successful response, if it has a body. */
  readonly success: Schema | undefined;
}

const BOUNDS: ReadonlySet<string> = new Set(['minimum', 'maximum']);

/** Later methods may change or remove what the earlier ones need. */
const METHODS = ['post', 'get', 'put', 'patch', 'delete'];

/** Parses a document. An example that a number cannot hold is a bigint; bounds are numbers, because Ajv compares them. */
export function parseDocument(text: string): StoreDocument & ResponseDocument {
  const document: unknown = parse(
    text,
    (key, value) => (typeof value === 'bigint' && BOUNDS.has(key) ? Number(value) : value),
    (digits) => (isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits)),
  );
  // The store has this document.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return document as StoreDocument & ResponseDocument;
}

/** The document of a store, and the checks against it. */
export class ApiDocument {
  readonly operations: readonly Operation[];
  readonly schemas: Schemas;
  readonly conformance: Conformance;
  private readonly checker: SchemaChecker;
  private readonly places = new WeakMap<Schema, readonly (readonly [Place, Schema])[]>();

  constructor(readonly object: StoreDocument & ResponseDocument) {
    this.schemas = object.components.schemas;
    this.conformance = new Conformance(object, { isStrict: true });
    this.checker = new SchemaChecker(this.schemas, () => false);
    const found = Object.entries<StoreDocument['paths'][string]>(object.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, each]) => operationOf(method, path, each)),
    );
    this.operations = METHODS.flatMap((method) =>
      found.filter((each) => each.method === method.toUpperCase()),
    );
  }

  /** Lists how a value differs from a schema. */
  errors(schema: Schema, value: unknown): readonly SchemaError[] {
    // Ajv knows no bigint.
    return this.checker.errors(schema, JSON.parse(stringify(value) ?? 'null'));
  }

  /** Lists the places of a body with their schemas. */
  placesOf(body: Schema): readonly (readonly [Place, Schema])[] {
    const found = this.places.get(body) ?? placesOf(body, this.schemas);
    this.places.set(body, found);
    return found;
  }

  /** Returns the operation that lists the resources of a path. */
  listOf(path: string): Operation | undefined {
    return this.operations.find((each) => each.path === path && each.method === 'GET' && isList(each));
  }
}

export function isList({ success }: Operation): boolean {
  return success?.type === 'array';
}

/** Returns the operation with this method at the path of another one. */
export function operationAt(
  { operations }: ApiDocument,
  method: string,
  path: string,
): Operation | undefined {
  return operations.find((each) => each.method === method && each.path === path);
}

export function takesHeader(operation: Operation, name: string | undefined): boolean {
  return parametersIn(operation, 'header').some((parameter) => parameter.name === name);
}

export function parametersIn({ parameters }: Operation, place: string): Parameter[] {
  return parameters.filter((parameter) => parameter.in === place);
}

function operationOf(method: string, path: string, object: OperationObject): Operation {
  const success = Object.entries(object.responses).find(([status]) => status.startsWith('2'))?.[1];
  return {
    title: `${method.toUpperCase()} /v1${path}`,
    method: method.toUpperCase(),
    path,
    object,
    parameters: object.parameters ?? [],
    body: schemaOf(object.requestBody),
    success: schemaOf(success),
  };
}

function schemaOf(node: Content | undefined): Schema | undefined {
  return node?.content?.['application/json']?.schema;
}
