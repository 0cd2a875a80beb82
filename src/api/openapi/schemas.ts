import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'lossless-json';
import { findOperation } from '../operation/operation.decorator';
import type { EventTypes } from '../extension/extension';
import { isObject, valueAt } from '../fields/json';
import { classFactsOf } from '../fields/validation.pipe';
import { operationsOf } from './responses';

type Schemas = Readonly<Record<string, unknown>>;

/** Adds what @nestjs/swagger has no decorator for: least members, examples of bodies and of required parameters. */
export function completeSchemas(paths: OpenAPIObject['paths'], schemas: Schemas): void {
  const operations = operationsOf(paths);
  for (const type of operations.flatMap(({ operationId }) => findOperation(operationId)?.types ?? [])) {
    const schema = schemas[type.name];
    const { needsMember, bodyExample: example } = classFactsOf(type);
    if (isObject(schema)) Object.assign(schema, needsMember && { minProperties: 1 }, example && { example });
  }
  // Tools that send requests, such as dredd, read no example of a schema.
  for (const each of operations.flatMap(({ parameters = [] }) => parameters))
    if ('in' in each && each.required) each.example ??= valueAt(each.schema, 'example');
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

/** Makes the schema of an event one variant for each class of `data`, which `type` tells apart. */
export function completeEvents(schemas: Record<string, unknown>, types: EventTypes): void {
  const { Event: event, EventType: type } = schemas;
  if (!isObject(event) || !isObject(event['properties']) || !isObject(type)) return;
  schemas['EventType'] = { ...type, enum: Object.keys(types) };
  const mapping: Record<string, string> = {};
  for (const { data } of Object.values(types)) {
    const own = Object.keys(types).filter((name) => types[name]?.data === data);
    const properties = {
      ...event['properties'],
      type: { type: 'string', enum: own, description: 'What happened.', example: own[0] },
      data: { $ref: getSchemaPath(data) },
    };
    const description = `An event whose \`data\` is of the class ${data.name}.`;
    const required = [...[event['required']].flat(), 'data'];
    const variant = `${data.name}Event`;
    schemas[variant] = { type: 'object', description, properties, required };
    for (const name of own) mapping[name] = getSchemaPath(variant);
  }
  schemas['Event'] = {
    description: event['description'],
    oneOf: [...new Set(Object.values(mapping))].map(($ref) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping },
  };
}
