import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { stringify } from 'lossless-json';
import { isInt64 } from '../platform/validation/int64';
import { isMembers } from './json';

const DOCUMENT_ID = 'openapi.json';
const COMPONENTS = '"#/components';

/** One way in which a value differs from its schema, or a response from the document. */
export interface Mismatch {
  /** JSON pointer to a value (RFC 6901), empty for the whole; of a response: `status`, `header link`, `body /0/id`. */
  readonly where: string;
  /** Begins with "must". */
  readonly rule: string;
  readonly got: unknown;
}

/** Checks values against schemas of an OpenAPI document. */
export class SchemaChecker {
  /** Stops at the first error, so that a pattern never runs on a text longer than its maxLength. */
  private readonly ajv = new Ajv({ strict: false, verbose: true });
  /** By the schema's place in the document. */
  private readonly validators = new WeakMap<object, ValidateFunction>();
  /** By the text of the schema: each operation refers to the same Error. */
  private readonly compiled = new Map<string, ValidateFunction>();

  /**
   * @param schemas those that references name
   * @param isClosed true if an object with this schema's name may have only its documented members
   */
  constructor(schemas: Readonly<Record<string, object>>, isClosed: (name: string) => boolean) {
    addFormats(this.ajv);
    this.ajv.addFormat('int64', { type: 'number', validate: isNearInt64 });
    const known: Record<string, object> = JSON.parse(textForAjv(schemas));
    for (const [name, schema] of Object.entries(known)) {
      if ('properties' in schema && isClosed(name)) Object.assign(schema, { additionalProperties: false });
    }
    this.ajv.addSchema({ components: { schemas: known } }, DOCUMENT_ID);
  }

  errors(schema: object, value: unknown): readonly Mismatch[] {
    const validate = this.validators.get(schema) ?? this.compile(schema);
    if (validate(withoutBigints(value))) return [];
    return (validate.errors ?? []).map(({ instancePath, message = 'must be valid', params, data }) => {
      const detail = [params['allowedValues'] ?? params['additionalProperty'] ?? []].flat().join(', ');
      return { where: instancePath, rule: detail === '' ? message : `${message} (${detail})`, got: data };
    });
  }

  private compile(schema: object): ValidateFunction {
    const text = textForAjv(schema).replaceAll(COMPONENTS, `"${DOCUMENT_ID}#/components`);
    const validate = this.compiled.get(text) ?? this.ajv.compile(JSON.parse(text));
    this.compiled.set(text, validate);
    this.validators.set(schema, validate);
    return validate;
  }
}

/** Makes each bigint a number, for Ajv. One outside int64 could be rounded to its bound, so it is doubled. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value) * (isInt64(value) ? 1 : 2);
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (!isMembers(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutBigints(each)]));
}

/** True for the nearest number of an int64. */
function isNearInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= 2 ** 63;
}

/** Prints schemas. Ajv knows `nullable` only next to `type`, and a reference to a schema has none. */
function textForAjv(schemas: object): string {
  return stringify(schemas, withNull) ?? '';
}

function withNull(_key: string, value: unknown): unknown {
  // A member may have this name.
  if (!isMembers(value) || 'type' in value || typeof value['nullable'] !== 'boolean') return value;
  const { nullable, ...schema } = value;
  return nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
}
