import { ValidateIf } from 'class-validator';

/** A field that may be left out. Unlike `@IsOptional` it does not let null pass: null is a value, and a wrong one. */
export function IsOmittable(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}
