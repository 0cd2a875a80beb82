import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'lossless-json';
import { findOperation } from '../../platform/api-docs/operation.decorator';
import { bodyExampleOf, isObject, needsMember, valueAt } from '../../platform/validation/declare-field';
import { operationsOf } from './codes';
import type { Schemas } from './event-schemas';

/** The examples of parameters that only Nest's own decorators declare, by their schema. */
const PLAIN: Readonly<Record<string, unknown>> = { '{"type":"string"}': 'text', '{"type":"number"}': 1 };

/** Adds what @nestjs/swagger has no decorator for: least members, examples of bodies and of required parameters. */
export function completeSchemas(paths: OpenAPIObject['paths'], schemas: Schemas): void {
  const operations = operationsOf(paths);
  for (const type of operations.flatMap(({ operationId }) => findOperation(operationId)?.types ?? [])) {
    const [schema, example] = [schemas[type.name], bodyExampleOf(type)];
    if (isObject(schema))
      Object.assign(schema, needsMember(type) && { minProperties: 1 }, example && { example });
  }
  // Tools that send requests, such as dredd, read no example of a schema.
  for (const each of operations.flatMap(({ parameters = [] }) => parameters))
    if ('in' in each && each.required)
      each.example ??= valueAt(each.schema, 'example') ?? PLAIN[stringify(each.schema) ?? ''];
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
