import { ValidateIf } from 'class-validator';

/** Marks a field that may be left out. Unlike `@IsOptional` it rejects null. */
export function IsOmittable(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}
