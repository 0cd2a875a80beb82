import { isObject } from '../../api/fields/json';
import { parseInt64 } from '../../api/fields/int64';

/** A schema of OpenAPI 3.0 or of JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

/** The two forms of an int64: agents whose JSON library rounds beyond 2^53 send the decimal text. */
const INT64_FORMS = [{ type: 'integer' }, { type: 'string', pattern: '^(?:0|-?[1-9][0-9]{0,18})$' }];

const INT64_NOTE = 'An int64: a JSON integer, or its decimal digits as a string. Beyond 2^53 use the string.';

/** How often one reference is followed within itself. A schema may refer to itself in many places, so each level multiplies. */
const MAX_REPEATS = 2;

/** Keywords that a tool does not need, or that JSON Schema lacks or defines differently, as the boolean exclusive bounds. */
const DROPPED = /^(?:examples?|externalDocs|discriminator|nullable|exclusiveM(?:ax|in)imum|x.*)$/;

/**
 * Converts a schema of OpenAPI 3.0 to one of JSON Schema 2020-12 without references.
 *
 * @param schemas the document's, by the last part of their references
 * @param outer the references that lead to this schema
 */
export function toJsonSchema(source: Schema, schemas: Schemas, outer: readonly string[] = []): Schema {
  const { $ref, allOf, ...own } = source;
  if (typeof $ref === 'string') {
    if (outer.filter((each) => each === $ref).length >= MAX_REPEATS) return {};
    const [name = ''] = $ref.split('/').slice(-1);
    return toJsonSchema({ ...schemas[name], ...own }, schemas, [...outer, $ref]);
  }
  const [only, ...others]: unknown[] = Array.isArray(allOf) ? allOf : [];
  if (isObject(only) && others.length === 0) return toJsonSchema({ ...only, ...own }, schemas, outer);
  const converted = own['format'] === 'int64' ? int64(own) : withParts(source, schemas, outer);
  return own['nullable'] === true ? { anyOf: [converted, { type: 'null' }] } : converted;
}

function int64({ description, default: value }: Schema): Schema {
  const text = typeof description === 'string' ? `${description} ${INT64_NOTE}` : INT64_NOTE;
  return { description: text, ...(value !== undefined && { default: value }), anyOf: INT64_FORMS };
}

function withParts(schema: Schema, schemas: Schemas, outer: readonly string[]): Schema {
  const convert = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(convert);
    return isObject(part) ? toJsonSchema(part, schemas, outer) : part;
  };
  const entries = Object.entries(schema).filter(
    // JSON Schema has no formats of numbers.
    ([keyword]) => !DROPPED.test(keyword) && (keyword !== 'format' || schema['type'] === 'string'),
  );
  return mapValues(Object.fromEntries(entries), (value, keyword) =>
    keyword === 'properties' && isObject(value) ? mapValues(value, convert) : convert(value),
  );
}

function mapValues(object: Schema, map: (value: unknown, name: string) => unknown): Schema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value, name)]));
}

/** Replaces the decimal texts of int64 values by the integers that HTTP requires. Other values stay as they are. */
export function withExactIntegers(value: unknown, schema: unknown): unknown {
  if (!isObject(schema)) return value;
  const { anyOf, items, properties } = schema;
  if (anyOf === INT64_FORMS) {
    return typeof value === 'string' ? (parseInt64(value) ?? value) : value;
  }
  if (Array.isArray(value)) return value.map((each) => withExactIntegers(each, items));
  if (isObject(value) && isObject(properties)) {
    return mapValues(value, (each, name) => withExactIntegers(each, properties[name]));
  }
  // The other form of `anyOf` is null.
  return Array.isArray(anyOf) ? withExactIntegers(value, anyOf[0]) : value;
}
