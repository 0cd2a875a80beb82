/** The parts of an OpenAPI 3.0 document that tools are made from, as they are in its JSON. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, PathItem>>;
}

type PathItem = Readonly<Record<string, Operation | undefined>>;

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  readonly 'x-required-scopes'?: readonly string[];
  readonly 'x-uncounted'?: boolean;
  /** The date on which the operation is removed, such as `2030-12-05`. */
  readonly 'x-sunset'?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface RequestBody {
  readonly required?: boolean;
  readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
}

/** A schema of OpenAPI 3.0 or of JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns what a reference such as `#/components/schemas/Pet` refers to (RFC 6901, section 6). */
export function resolve(document: ApiDocument, reference: string): Schema {
  const names = reference.replace(/^#\//, '').split('/');
  let found: unknown = document;
  for (const name of names) {
    const member = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isSchema(found) ? found[member] : undefined;
  }
  return isSchema(found) ? found : {};
}
