import type { EventTypes } from '../../platform/extension/extension';
import { isObject } from '../../platform/validation/declare-field';

export type Schemas = Readonly<Record<string, unknown>>;

const REFERENCE = '#/components/schemas/';

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
