import { stringify } from 'lossless-json';

/** The parts of a schema of an OpenAPI document that the promises read. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly example?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** The place of a value within a body: names of members and indexes of items. */
export type Place = readonly (string | number)[];

const REFERENCE = '#/components/schemas/';

/** Replaces the reference of a schema, and its `allOf`, by what they refer to. */
export function resolved({ $ref, allOf = [], ...own }: Schema, schemas: Schemas): Schema {
  const referred = $ref === undefined ? [] : [schemas[$ref.slice(REFERENCE.length)] ?? {}];
  const parts = [...referred, ...allOf].map((part) => resolved(part, schemas));
  return Object.assign({}, ...parts, own);
}

/** Returns the documented example of a value: an object consists of the examples of its members. */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  const { properties, items, example, enum: choices, default: preset } = resolved(schema, schemas);
  if (properties !== undefined) {
    const members = Object.entries(properties).map(([name, member]) => [name, exampleOf(member, schemas)]);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }
  if (example !== undefined) return example;
  if (items !== undefined) {
    const item = exampleOf(items, schemas);
    return item === undefined ? [] : [item];
  }
  return choices?.[0] ?? preset;
}

/** Prints a value for a URL. */
export function encoded(value: unknown): string {
  return encodeURIComponent(typeof value === 'string' ? value : (stringify(value) ?? ''));
}

/** Prints a parameter for the query of a URL; a list is a repeated parameter, and an empty one is left out. */
export function queryText(name: string, value: unknown): string {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map((each) => `${name}=${encoded(each)}`).join('&');
}

/** Adds parameters to a path, which may have a query already. */
export function withQuery(path: string, text: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

/** Lists the places of a body with their schemas: each member, those of nested objects and of first items included. */
export function placesOf(schema: Schema, schemas: Schemas, outer: Place = []): [Place, Schema][] {
  const { properties = {}, items } = resolved(schema, schemas);
  const inner: [Place, Schema][] = [
    ...Object.entries(properties).map(([name, member]): [Place, Schema] => [[...outer, name], member]),
    ...(items === undefined ? [] : [[[...outer, 0], items] satisfies [Place, Schema]]),
  ];
  return inner.flatMap(([place, member]) => [
    [place, resolved(member, schemas)],
    ...placesOf(member, schemas, place),
  ]);
}
