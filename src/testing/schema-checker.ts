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

const DOCUMENT_ID = 'openapi.json';
/** Of an integer the number is the nearest one. */
const isNearInt64 = (value: number) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63;

/** Compares values with the schemas of an OpenAPI document. */
export class SchemaChecker {
  /** Stops at the first error, so that a pattern never runs on a text longer than its maxLength. */
  private readonly ajv = new Ajv({ strict: false, verbose: true });
  /** By the text of the schema: each operation refers to the same Error. */
  private readonly compiled = new Map<string, ValidateFunction>();
  private readonly ofSchema = new WeakMap<object, ValidateFunction>();

  /** @param schemas those that references name; an object may have only the documented members of its schema */
  constructor(schemas: Readonly<Record<string, object>>) {
    addFormats(this.ajv);
    this.ajv.addFormat('int64', { type: 'number', validate: isNearInt64 });
    const known: Record<string, object> = JSON.parse(stringify(schemas, forAjv) ?? '');
    for (const schema of Object.values(known)) {
      if ('properties' in schema) Object.assign(schema, { additionalProperties: false });
    }
    this.ajv.addSchema({ components: { schemas: known } }, DOCUMENT_ID);
  }

  /** @param json the text of the value; Ajv gets the nearest number of each integer */
  errors(schema: object, json: string): readonly Mismatch[] {
    const validate = this.ofSchema.get(schema) ?? this.compile(schema);
    if (validate(JSON.parse(json))) return [];
    return (validate.errors ?? []).map(({ instancePath, message = 'must be valid', params, data }) => {
      const detail = [params['allowedValues'] ?? params['additionalProperty'] ?? []].flat().join(', ');
      return { where: instancePath, rule: detail === '' ? message : `${message} (${detail})`, got: data };
    });
  }

  private compile(schema: object): ValidateFunction {
    const text = (stringify(schema, forAjv) ?? '').replaceAll('"#/components', `"${DOCUMENT_ID}#/components`);
    const validate = this.compiled.get(text) ?? this.ajv.compile(JSON.parse(text));
    this.compiled.set(text, validate);
    this.ofSchema.set(schema, validate);
    return validate;
  }
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
