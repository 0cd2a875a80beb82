import { MAX_INT64, MIN_INT64 } from '../http/int64';

type Json = Record<string, unknown>;

const REFERENCE = '#/components/schemas/';

/**
 * Completes every schema below a node: the bounds of an int64, and the example of an object, a list or an enumeration.
 *
 * @param schemas the completed schemas that lists refer to
 */
export function completeSchemas(node: unknown, schemas: Readonly<Record<string, unknown>>): void {
  if (typeof node !== 'object' || node === null) return;
  for (const child of Object.values(node)) completeSchemas(child, schemas);
  if (!isJson(node)) return;
  if (node['format'] === 'int64') addBounds(node);
  if (Array.isArray(node['enum'])) node['example'] ??= node['enum'][0];
  if (isJson(node['properties'])) node['example'] ??= exampleOf(node['properties']);
  if (isJson(node['items'])) addListExample(node, node['items'], schemas);
}

/**
 * Adds the bounds as numbers. A number cannot hold the highest int64 and becomes 2^63; `document-text.ts` then writes
 * the exact digits.
 */
function addBounds(schema: Json): void {
  schema['minimum'] ??= Number(MIN_INT64);
  schema['maximum'] ??= Number(MAX_INT64);
}

function exampleOf(properties: Json): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      isJson(schema) ? schema['example'] : undefined,
    ]),
  );
}

function addListExample(list: Json, { $ref }: Json, schemas: Readonly<Record<string, unknown>>): void {
  const item = schemas[String($ref).slice(REFERENCE.length)];
  if (isJson(item)) list['example'] ??= [item['example']];
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
