import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { exactFieldsOf, toNumbers } from './exact-integers';
import { readersOf } from './from-text.decorator';
import { givenNameOf, isTransformed, nestedTypeOf } from './nest-dto';
import { type QuickValidation, quickValidationOf } from './quick-validation';

export type Members = Readonly<Record<string, unknown>>;

/** Prepares the value of one field for its validators. */
type Convert = (value: unknown) => unknown;

/** The facts about a class that all its values share. */
export interface Shape {
  /** The fields with a validator, by their names in the input; empty for a class that is not a DTO. */
  readonly fields: ReadonlyMap<string, Convert>;
  /** True if class-transformer creates the object, which takes several times as long. */
  readonly isTransformed: boolean;
  /** Undefined if class-validator validates every value. */
  readonly isValid: QuickValidation | undefined;
}

/** @param isText true for a query or a path, whose values are texts */
export function shapeOf(type: Type, isText: boolean): Shape {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const names = [...new Set(metadata.map(({ propertyName }) => propertyName))];
  const isWhole = isTransformed(type, names);
  return {
    fields: new Map(names.map((name) => [givenNameOf(type, name), converterOf(type, name, isText)])),
    isTransformed: isWhole,
    // Validation of a transformed object also removes members.
    isValid: isWhole ? undefined : quickValidationOf(type),
  };
}

/** Takes own members only: a body may have a member `__proto__`. */
export function pick(value: Members, { fields, isTransformed: isWhole }: Shape): Members {
  // A function of class-transformer may read a member without a validator, which the validation then removes.
  const picked = isWhole ? membersOf(value) : {};
  for (const [name, convert] of fields) {
    if (Object.hasOwn(value, name)) picked[name] = convert(value[name]);
  }
  return picked;
}

function converterOf(type: Type<object>, name: string, isText: boolean): Convert {
  const prototype: object = type.prototype;
  const reader = isText ? readersOf(prototype).get(name) : undefined;
  if (reader) return reader;
  if (exactFieldsOf(type).has(name)) return (value) => value;
  return (value) => toNumbers(value, (object) => nestedTypeOf(type, name, object));
}

function membersOf(value: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toNumbers(each)]));
}
