import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { nestedTypeOf } from './nest-dto';

/** The validator of an int64; its field keeps the bigint. */
export const IS_INT64 = 'isInt64';

const exactFields = new WeakMap<Type, ReadonlySet<string>>();

/** The members of a JSON object. */
type Members = Readonly<Record<string, unknown>>;

/**
 * Converts integers from bigint, as `parseJson` reads them, to the numbers that class-validator's decorators expect. An
 * int64 field stays a bigint, and so does an integer that no number holds exactly; `@IsInt()` then rejects it.
 *
 * @param type the DTO class of the object, if it has one
 */
export function withNumbers(members: Members, type?: Type): Members {
  const exact = type && exactFieldsOf(type);
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      exact?.has(name) ? value : toNumbers(value, type && nestedTypeOf(type, name)),
    ]),
  );
}

function toNumbers(value: unknown, type: Type | undefined): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map((each) => toNumbers(each, type));
  return typeof value === 'object' && value !== null ? withNumbers({ ...value }, type) : value;
}

function exactFieldsOf(type: Type): ReadonlySet<string> {
  const known = exactFields.get(type);
  if (known) return known;
  const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const found = new Set(
    metadata.filter(({ name }) => name === IS_INT64).map(({ propertyName }) => propertyName),
  );
  exactFields.set(type, found);
  return found;
}
