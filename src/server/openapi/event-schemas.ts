import type { EventTypes } from '../../platform/extension/extension';
import { isObject } from '../../platform/validation/declare-field';

export type Schemas = Readonly<Record<string, unknown>>;

export const REFERENCE = '#/components/schemas/';

/** How deep members are within members. */
const MAX_DEPTH = 6;

/** The name of the variant of an event with `data` of a class. */
const variantOf = ({ name }: { readonly name: string }) => `${name}Event`;

/** Makes the schema of an event one variant for each class of `data`, which `type` tells apart. */
export function completeEvents(schemas: Record<string, unknown>, types: EventTypes): void {
  const { Event: event, EventType: type } = schemas;
  if (!isObject(event) || !isObject(event['properties']) || !isObject(type)) return;
  const all = Object.entries(types);
  schemas['EventType'] = { ...type, enum: all.map(([name]) => name) };
  for (const { data } of Object.values(types)) {
    const own = all.filter(([, facts]) => facts.data.name === data.name).map(([name]) => name);
    const properties = {
      ...event['properties'],
      type: { type: 'string', enum: own, description: 'What happened.', example: own[0] },
      data: { $ref: REFERENCE + data.name },
    };
    const description = `An event whose \`data\` is of the class ${data.name}.`;
    const required = [...[event['required']].flat(), 'data'];
    schemas[variantOf(data)] = { type: 'object', description, properties, required };
  }
  const references = all.map(([name, { data }]) => [name, REFERENCE + variantOf(data)] as const);
  schemas['Event'] = {
    description: event['description'],
    oneOf: [...new Set(references.map(([, $ref]) => $ref))].map(($ref) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(references) },
  };
}

/**
 * Replaces variants by conditions on the member that tells them apart: the serializer would validate every member.
 *
 * @param all the schemas by name
 */
export function serializable({ oneOf, discriminator, ...schema }: Schemas, all: Schemas): object {
  if (!isObject(discriminator) || !isObject(discriminator['mapping']))
    return { ...schema, ...(oneOf ? { oneOf } : {}) };
  const variants = Object.entries(discriminator['mapping']);
  return variants.reduceRight<object>(
    (others, [value, $ref]) => ({
      if: { type: 'object', properties: { [String(discriminator['propertyName'])]: { const: value } } },
      // A member of JSON Schema.
      // oxlint-disable-next-line unicorn/no-thenable
      then: tolerant({ $ref }, all),
      else: others,
    }),
    tolerant({ $ref: variants.at(-1)?.[1] }, all),
  );
}

/** Allows missing members: another version of a class may have written an event. */
function tolerant(node: unknown, all: Schemas, depth = 0): object {
  if (!isObject(node)) return {};
  // A class may have a member of its own class.
  if (typeof node['$ref'] === 'string' && depth < MAX_DEPTH)
    return tolerant(all[node['$ref'].slice(0, -1)], all, depth + 1);
  const { properties, items, allOf, required: _, ...others } = node;
  const members = Object.entries(isObject(properties) ? properties : {});
  return {
    ...others,
    ...(properties !== undefined && {
      properties: Object.fromEntries(members.map(([name, each]) => [name, tolerant(each, all, depth)])),
    }),
    ...(items !== undefined && { items: tolerant(items, all, depth) }),
    ...(Array.isArray(allOf) && { allOf: allOf.map((each) => tolerant(each, all, depth)) }),
  };
}
