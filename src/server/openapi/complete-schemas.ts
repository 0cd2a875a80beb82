import { classesWithMember } from '../../platform/validation/field';
import { MAX_INT64, MIN_INT64 } from '../../platform/validation/int64';

type Json = Record<string, unknown>;

/** The schemas of the document by name. */
type Schemas = Readonly<Record<string, unknown>>;

/** A class may have a member of its own class. */
const MAX_DEPTH = 4;
const REFERENCE = '#/components/schemas/';

/** Completes the schemas of a document. */
export function completeDocument(document: object, schemas: Schemas): void {
  for (const name of classesWithMember()) {
    const schema = schemas[name];
    if (isJson(schema)) schema['minProperties'] = 1;
  }
  completeSchemas(document, schemas);
}

/**
 * Completes every schema below a node: the bounds of an int64, and the example of an object, a list or an enumeration.
 *
 * @param schemas those that references name
 */
function completeSchemas(node: unknown, schemas: Schemas): void {
  if (typeof node !== 'object' || node === null) return;
  for (const child of Object.values(node)) completeSchemas(child, schemas);
  if (!isJson(node)) return;
  if (node['format'] === 'int64') addBounds(node);
  if (Array.isArray(node['enum'])) node['example'] ??= node['enum'][0];
  // A node without a type is a map of members, which may have these names.
  if (node['type'] === 'object' || node['type'] === 'array') {
    const example = exampleOf(node, schemas);
    if (example !== undefined) node['example'] ??= example;
  }
}

/** Adds the bounds, as a bigint: a number cannot hold the highest int64. */
function addBounds(schema: Json): void {
  schema['minimum'] ??= MIN_INT64;
  schema['maximum'] ??= MAX_INT64;
}

/** Returns the example of a schema; that of an object or of a list without one consists of those of its parts. */
function exampleOf(schema: unknown, schemas: Schemas, depth = 0): unknown {
  if (!isJson(schema) || depth > MAX_DEPTH) return undefined;
  const { example, $ref, allOf, items, properties } = schema;
  if (example !== undefined) return example;
  if (typeof $ref === 'string') return exampleOf(schemas[$ref.slice(REFERENCE.length)], schemas, depth + 1);
  if (Array.isArray(allOf)) return exampleOf(allOf[0], schemas, depth);
  if (isJson(items)) return listOf(exampleOf(items, schemas, depth + 1));
  if (!isJson(properties)) return undefined;
  const members = Object.entries(properties);
  return Object.fromEntries(members.map(([name, each]) => [name, exampleOf(each, schemas, depth + 1)]));
}

/** Without an example of the items the list has none. */
function listOf(item: unknown): unknown[] | undefined {
  return item === undefined ? undefined : [item];
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
