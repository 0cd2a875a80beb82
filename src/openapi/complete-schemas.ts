import { MAX_INT64, MIN_INT64 } from '../http/int64';

type Json = Record<string, unknown>;

const REFERENCE = '#/components/schemas/';

/**
 * Adds to every schema below a node what follows from the rest of it: the bounds of an int64, and the example of an
 * object, a list or an enumeration.
 *
 * @param schemas those that lists refer to, complete
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
 * Numbers cannot hold the highest int64; it becomes 2^63, and the text of the document says it exactly
 * (`document-text.ts`).
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
