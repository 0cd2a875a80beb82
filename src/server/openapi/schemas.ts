import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'lossless-json';
import { findOperation } from '../../platform/api-docs/operation.decorator';
import { bodyExampleOf, isObject, needsMember } from '../../platform/validation/declare-field';
import { MAX_INT64, MIN_INT64 } from '../../platform/validation/int64';
import { operationsOf } from './codes';
import { REFERENCE, type Schemas } from './event-schemas';

/** The examples of parameters that only Nest's own decorators declare, by their schema. */
const PLAIN: Readonly<Record<string, unknown>> = { '{"type":"string"}': 'text', '{"type":"number"}': 1 };

/** A class may have a member of its own class. */
const MAX_DEPTH = 6;

/** Completes the schemas of a document: bounds of int64, least members, examples of objects, lists and enumerations. */
export function completeSchemas(document: Pick<OpenAPIObject, 'paths'>, schemas: Schemas): void {
  const operations = operationsOf(document.paths).map(({ operationId }) => findOperation(operationId));
  for (const type of operations.flatMap((each) => each?.types ?? [])) {
    const [schema, example] = [schemas[type.name], bodyExampleOf(type)];
    if (!isObject(schema)) continue;
    Object.assign(schema, needsMember(type) && { minProperties: 1 }, example && { example });
  }
  completeBelow(document, schemas);
  // Tools that send requests, such as dredd, read no example of a schema.
  for (const each of operationsOf(document.paths).flatMap(({ parameters = [] }) => parameters))
    if ('in' in each && each.required)
      each.example ??= exampleOf(each.schema, schemas) ?? PLAIN[stringify(each.schema) ?? ''];
}

function completeBelow(node: unknown, schemas: Schemas): void {
  if (typeof node !== 'object' || node === null) return;
  for (const child of Object.values(node)) completeBelow(child, schemas);
  if (!isObject(node)) return;
  const { type, format, enum: values } = node;
  // A bigint: a number cannot hold the highest int64.
  if (format === 'int64') Object.assign(node, { minimum: MIN_INT64, maximum: MAX_INT64, ...node });
  if (Array.isArray(values)) Object.assign(node, { example: values[0], ...node });
  // A node without a type is a map of members, which may have these names.
  const hasExample = type === 'object' || type === 'array' || Array.isArray(node['oneOf']);
  const example = hasExample ? exampleOf(node, schemas) : undefined;
  if (example !== undefined) Object.assign(node, { example });
}

/** Returns the example of a schema. For an object or a list without one it is made of the examples of its parts. */
function exampleOf(schema: unknown, schemas: Schemas, depth = 0): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return undefined;
  const { nullable, example, $ref, oneOf, allOf = oneOf, items, properties, required = [] } = schema;
  if (example !== undefined) return example;
  if (typeof $ref === 'string') return exampleOf(schemas[$ref.slice(REFERENCE.length)], schemas, depth + 1);
  if (Array.isArray(allOf)) return exampleOf(allOf[0], schemas, depth);
  const item = exampleOf(items, schemas, depth + 1);
  if (item !== undefined) return [item];
  if (!isObject(properties)) return nullable ? null : undefined;
  const names = new Set<unknown>([required].flat());
  const members = Object.entries(properties).map(
    ([name, each]) => [name, exampleOf(each, schemas, depth + 1)] as const,
  );
  // The null of a member that may be left out says nothing.
  return Object.fromEntries(members.filter(([name, value]) => value !== null || names.has(name)));
}

/**
 * Adds the document's schemas to Fastify by name; the serializer of an `@Operation` refers to them. So one class
 * defines the documented and the sent body.
 */
export function addResponseSchemas(fastify: FastifyInstance, { components }: OpenAPIObject): void {
  // The serializer expects numbers, and ignores bounds and examples. In OpenAPI 3.0 exclusive bounds are booleans.
  const text = stringify(components?.schemas ?? {}) ?? '{}';
  const local: Record<string, Schemas> = JSON.parse(
    text
      .replaceAll(/"#\/components\/schemas\/([^"]+)"/g, '"$1#"')
      .replaceAll(/"exclusive(?=M(?:ax|in)imum":(?:true|false))/g, '"x-'),
  );
  for (const [name, schema] of Object.entries(local)) {
    fastify.addSchema({ ...schema, $id: name });
  }
}
