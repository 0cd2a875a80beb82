import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { type RouteHandler, type Input, isArray, isClass } from './handlers';
import { isReadOnlyProperty, propertiesOf } from './swagger-metadata';
import { UserError } from '../../platform/errors/user-error';

const FIX =
  'add a decorator of class-validator to each property, such as @IsString(), or @Allow() if every value is valid.';

/**
 * Rejects inputs that `StrictDtoPipe` would pass on unchecked: a property without a constraint of class-validator, and
 * a property that is a DTO class itself.
 */
export function requireValidators(handlers: readonly RouteHandler[]): void {
  for (const { place, inputs } of handlers) {
    for (const input of inputs) {
      const problem = problemOf(input, `the ${input.kind} of ${place}`);
      if (problem !== undefined) throw new UserError(problem);
    }
  }
}

function problemOf({ type, hasPipe }: Input, place: string): string | undefined {
  if (isArray(type)) {
    return hasPipe
      ? undefined
      : `Nothing validates the items of ${place}: use Nest's ParseArrayPipe for the array.`;
  }
  const validators = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  // `@IsOptional()` and `@ValidateIf()` only switch the other constraints on and off.
  const constraints = validators.filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION);
  const validated = new Set(constraints.map(({ propertyName }) => propertyName));
  if (validated.size === 0) return hasPipe ? undefined : `${type.name}, ${place}, has no validators: ${FIX}`;
  const nested = validators.find((each) => each.type === ValidationTypes.NESTED_VALIDATION);
  const properties = [...propertiesOf(type), ...validators.map(({ propertyName }) => propertyName)];
  const object = nested?.propertyName ?? properties.find((name) => hasProperties(type, name));
  if (object !== undefined) {
    return `${type.name}.${object}, in ${place}, is a nested object, which is not supported yet: declare its properties in ${type.name} itself.`;
  }
  const unchecked = properties.find((name) => !validated.has(name) && !isReadOnlyProperty(type, name));
  return unchecked === undefined
    ? undefined
    : `${type.name}.${unchecked}, in ${place}, is not validated: ${FIX}`;
}

/** True if the type of a property is a class with documented properties, which the pipe does not validate. */
function hasProperties({ prototype }: Type<object>, property: string): boolean {
  const type: unknown = Reflect.getMetadata('design:type', prototype, property);
  return isClass(type) && propertiesOf(type).length > 0;
}
