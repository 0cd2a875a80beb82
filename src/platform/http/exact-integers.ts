import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { nestedTypeOf } from './nest-dto';

/** The validator of an int64; its field keeps the bigint. */
export const IS_INT64 = 'isInt64';

const exactFields = new WeakMap<Type, ReadonlySet<string>>();

/**
 * Converts integers from bigint, as `parseJson` reads them, to the numbers that class-validator's decorators expect. An
 * int64 field stays a bigint, and so does an integer that no number holds exactly; `@IsInt()` then rejects it.
 *
 * @param typeOf returns the DTO class of an object, if it has one
 */
export function toNumbers(value: unknown, typeOf: (object: object) => Type | undefined = noType): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map((each) => toNumbers(each, typeOf));
  if (!isJsonObject(value)) return value;
  const type = typeOf(value);
  const exact = type && exactFieldsOf(type);
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      exact?.has(name) ? each : toNumbers(each, (inner) => type && nestedTypeOf(type, name, inner)),
    ]),
  );
}

function noType(): undefined {
  return undefined;
}

/** False for an object of a class, such as a Buffer that a content type parser of a module returns. */
function isJsonObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Returns the int64 fields of a DTO class. */
export function exactFieldsOf(type: Type): ReadonlySet<string> {
  const known = exactFields.get(type);
  if (known) return known;
  const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const found = new Set(
    metadata.filter(({ name }) => name === IS_INT64).map(({ propertyName }) => propertyName),
  );
  exactFields.set(type, found);
  return found;
}
