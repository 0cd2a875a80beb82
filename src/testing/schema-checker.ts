import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { stringify } from 'lossless-json';
import { isObject } from './json';

/** One way in which a value differs from its schema, or a response from the document. */
export interface Mismatch {
  /** JSON pointer to a value (RFC 6901), empty for the whole; of a response: `status`, `header link`, `body /0/id`. */
  readonly where: string;
  /** Begins with "must". */
  readonly rule: string;
  readonly got: unknown;
}

/** Of an integer the number is the nearest one. */
const isNearInt64 = (value: number) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63;

/** Lists how a value in JSON differs from a schema. Ajv gets the nearest number of each integer. */
export type SchemaChecker = (schema: object, json: string) => readonly Mismatch[];

/** @param schemas those that references name; an object may have only the documented members of its schema */
export function schemaChecker(schemas: Readonly<Record<string, object>>): SchemaChecker {
  // Stops at the first error, so that a pattern never runs on a text longer than its maxLength.
  const ajv = addFormats(new Ajv({ strict: false, verbose: true }));
  ajv.addFormat('int64', { type: 'number', validate: isNearInt64 });
  const known: Record<string, object> = JSON.parse(stringify(schemas, forAjv) ?? '');
  for (const schema of Object.values(known)) {
    if ('properties' in schema) Object.assign(schema, { additionalProperties: false });
  }
  ajv.addSchema({ components: { schemas: known } }, 'openapi.json');
  /** By the text of the schema: each operation refers to the same Error. */
  const compiled = new Map<string, ValidateFunction>();
  const ofSchema = new WeakMap<object, ValidateFunction>();
  const compile = (schema: object): ValidateFunction => {
    const text = (stringify(schema, forAjv) ?? '').replaceAll('"#/components', '"openapi.json#/components');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    ofSchema.set(schema, validate);
    return validate;
  };
  return (schema, json) => {
    const validate = ofSchema.get(schema) ?? compile(schema);
    if (validate(JSON.parse(json))) return [];
    return (validate.errors ?? []).map(({ instancePath, message = 'must be valid', params, data }) => {
      const detail = [params['allowedValues'] ?? params['additionalProperty'] ?? []].flat().join(', ');
      return { where: instancePath, rule: detail === '' ? message : `${message} (${detail})`, got: data };
    });
  };
}

/** Converts a schema: Ajv knows `nullable` only next to `type`, and an exclusive bound only as a number. */
function forAjv(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { nullable, ...schema }: Record<string, unknown> = value;
  for (const bound of ['Minimum', 'Maximum']) {
    const isExclusive = schema[`exclusive${bound}`];
    // A member may have this name.
    if (typeof isExclusive !== 'boolean') continue;
    schema[`exclusive${bound}`] = isExclusive ? schema[bound.toLowerCase()] : undefined;
  }
  if ('type' in value || typeof nullable !== 'boolean') return { nullable, ...schema };
  return nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
}
