import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'lossless-json';
import { findOperation, isPage, type RegisteredOperation } from '../../platform/api-docs/operation.decorator';
import { platformErrors } from '../../platform/errors/platform.errors';
import { UserError } from '../../platform/errors/user-error';
import {
  bodyExampleOf,
  classesIn,
  isObject,
  needsMember,
  validatedFields,
} from '../../platform/validation/declare-field';
import { MAX_INT64, MIN_INT64 } from '../../platform/validation/int64';
import { operationsOf } from './codes';
import { REFERENCE, type Schemas, serializable } from './event-schemas';

type Type = RegisteredOperation['types'][number];

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
    fastify.addSchema({ ...serializable(schema, local), $id: name });
  }
}

/**
 * Rejects a class of a body or query that is missing at run time, and a member without a decorator, which would be dropped
 * or not be validated.
 *
 * @throws UserError
 */
export function checkClasses({ paths, components }: OpenAPIObject): void {
  for (const { operationId, requestBody } of operationsOf(paths)) {
    const operation = findOperation(operationId);
    if (!operation) continue;
    const { id, types, idempotent = false, rejects, returns } = operation;
    for (const type of [returns[1] ?? []].flat().flatMap((each) => classesIn(each))) {
      requireKnown(type, id, Object.keys(membersOf(type, components)));
    }
    if (idempotent !== rejects.includes(platformErrors.idempotency_key_in_use)) {
      throw new UserError(
        `${id}: \`idempotent: true\` and @Idempotent() need each other: add the missing one, and return once((transaction) => …).`,
      );
    }
    const body = stringify(requestBody) ?? '';
    const isOfBody = ({ name }: Type): boolean => body.includes(`/${name}"`);
    // TypeScript emits `Function` for a class that is imported by its type only. A page needs a query.
    const isMissing = (type: Type): boolean =>
      Object.is(type, Function) && (isOfBody(type) || isPage(operation));
    if (types.some(isMissing)) {
      throw new UserError(
        `${id}: the class of a parameter is missing at run time: import it without \`type\`.`,
      );
    }
    const inputs = types.filter((type) => isOfBody(type) || validatedFields(type).length > 0);
    for (const type of inputs.flatMap((each) => classesIn(each))) {
      const members = Object.entries(membersOf(type, components));
      const readOnly = members.flatMap(([name, member]) => ('readOnly' in member ? name : []));
      requireKnown(type, id, [...validatedFields(type), ...readOnly]);
    }
  }
}

/** An instance has every member that the class declares. */
function requireKnown(type: Type, id: string, known: readonly string[]): void {
  const name = Object.keys(new type()).find((each) => !known.includes(each));
  if (name === undefined) return;
  throw new UserError(
    `${type.name}.${name}, in ${id}, has no decorator for its value: add one, such as @Text(), or @Allow() if every value is valid.`,
  );
}

function membersOf({ name }: Type, components: OpenAPIObject['components']): object {
  const schema = components?.schemas?.[name] ?? {};
  return 'properties' in schema ? (schema.properties ?? {}) : {};
}
