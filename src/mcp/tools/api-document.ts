/** The parts of an OpenAPI 3.0 document that tools are made from, as they are in its JSON. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
  readonly components?: { readonly schemas?: Schemas };
}

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
  readonly 'x-required-scopes'?: readonly string[];
  readonly 'x-uncounted'?: boolean;
  /** The date on which the operation is removed, such as `2030-12-05`. */
  readonly 'x-sunset'?: string;
  /** The windows of `@Throttle`, in milliseconds. */
  readonly 'x-throttle'?: readonly { readonly limit: number; readonly ttl: number }[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

/** A schema of OpenAPI 3.0 or of JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

export function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
