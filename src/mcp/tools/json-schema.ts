import { type ApiDocument, isSchema, resolve, type Schema } from './api-document';

const PLAIN_DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;

/** The two forms of an int64: agents whose JSON library rounds beyond 2^53 send the decimal text. */
const INT64_FORMS: readonly Schema[] = [
  { type: 'integer' },
  { type: 'string', pattern: PLAIN_DECIMAL.source },
];

const INT64_NOTE = 'An int64: a JSON integer, or its decimal digits as a string. Beyond 2^53 use the string.';

/** How often one reference is followed within itself. A schema may refer to itself in many places, so each level multiplies. */
const MAX_REPEATS = 2;

/** Keywords that JSON Schema does not have, or that a tool does not need. */
const DROPPED = new Set(['example', 'examples', 'xml', 'externalDocs', 'discriminator', 'nullable']);

/**
 * Converts a schema of OpenAPI 3.0 to one of JSON Schema 2020-12 without references.
 *
 * @param outer the references that lead to this schema
 */
export function toJsonSchema(source: Schema, document: ApiDocument, outer: readonly string[] = []): Schema {
  const { schema, references } = inlined(source, document);
  if (references.some((each) => outer.filter((name) => name === each).length >= MAX_REPEATS)) return {};
  const converted =
    schema['format'] === 'int64' ? int64(schema) : withParts(schema, document, [...outer, ...references]);
  if (schema['nullable'] !== true) return converted;
  const { description, ...value } = converted;
  return { ...(description !== undefined && { description }), anyOf: [value, { type: 'null' }] };
}

/** Replaces a reference, and an `allOf` of one schema, by the schema itself. Members next to it win. */
function inlined(source: Schema, document: ApiDocument): { schema: Schema; references: readonly string[] } {
  const { $ref, allOf, ...own } = source;
  if (typeof $ref === 'string') {
    const { schema, references } = inlined({ ...resolve(document, $ref), ...own }, document);
    return { schema, references: [$ref, ...references] };
  }
  if (!Array.isArray(allOf)) return { schema: source, references: [] };
  const [only, ...others]: unknown[] = allOf;
  if (!isSchema(only) || others.length > 0) return { schema: source, references: [] };
  const { schema, references } = inlined(only, document);
  return { schema: { ...schema, ...own }, references };
}

function int64({ description, default: value }: Schema): Schema {
  const text = typeof description === 'string' ? `${description} ${INT64_NOTE}` : INT64_NOTE;
  return { description: text, ...(value !== undefined && { default: value }), anyOf: INT64_FORMS };
}

function withParts(schema: Schema, document: ApiDocument, outer: readonly string[]): Schema {
  const convert = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(convert);
    return isSchema(part) ? toJsonSchema(part, document, outer) : part;
  };
  const entries = Object.entries(schema)
    .filter(([keyword]) => !DROPPED.has(keyword) && !keyword.startsWith('x-'))
    .filter(([keyword, value]) => keyword !== 'format' || !isOfNumber(value))
    .map(([keyword, value]): [string, unknown] => {
      if (keyword === 'properties' && isSchema(value)) return [keyword, mapValues(value, convert)];
      if (['items', 'additionalProperties', 'not', 'allOf', 'anyOf', 'oneOf'].includes(keyword)) {
        return [keyword, convert(value)];
      }
      return [keyword, value];
    });
  return Object.fromEntries(entries.flatMap(([keyword, value]) => boundOf(schema, keyword, value)));
}

/** In OpenAPI 3.0 `exclusiveMinimum: true` says that `minimum` itself is excluded. */
function boundOf(schema: Schema, keyword: string, value: unknown): [string, unknown][] {
  const [, exclusive] = /^(?:exclusive)?(Minimum|Maximum)$/i.exec(keyword) ?? [];
  if (exclusive === undefined) return [[keyword, value]];
  const name = exclusive.toLowerCase();
  const isExclusive = schema[`exclusive${name === 'minimum' ? 'Minimum' : 'Maximum'}`] === true;
  if (keyword === name) return isExclusive ? [] : [[keyword, value]];
  return isExclusive ? [[keyword, schema[name]]] : [];
}

/** Formats of OpenAPI that JSON Schema does not define. */
function isOfNumber(format: unknown): boolean {
  return typeof format === 'string' && ['int32', 'float', 'double'].includes(format);
}

function mapValues(object: Schema, map: (value: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));
}

/** Replaces the decimal texts of int64 values by the integers that HTTP requires. Other values stay as they are. */
export function withExactIntegers(value: unknown, schema: unknown): unknown {
  if (!isSchema(schema)) return value;
  const { anyOf, items, properties } = schema;
  if (anyOf === INT64_FORMS) {
    return typeof value === 'string' && PLAIN_DECIMAL.test(value) ? BigInt(value) : value;
  }
  if (Array.isArray(value)) return value.map((each) => withExactIntegers(each, items));
  if (isSchema(value) && isSchema(properties)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, withExactIntegers(each, properties[name])]),
    );
  }
  // The other form of `anyOf` is null.
  return Array.isArray(anyOf) ? withExactIntegers(value, anyOf[0]) : value;
}
