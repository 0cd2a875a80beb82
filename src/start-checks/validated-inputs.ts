import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { DeclarationError } from './declaration.error';
import { type Handler, type Input, isArray, isClass } from './handlers';
import { isReadOnly, propertiesOf } from './swagger-metadata';

const FIX =
  'add a decorator of class-validator to each property, such as @IsString(), or @Allow() if every value may pass.';

/**
 * Rejects what the validation pipe would let through unchecked: a property that no decorator of class-validator
 * constrains, or that is an object with properties of its own.
 */
export function requireValidators(handlers: readonly Handler[]): void {
  for (const { place, inputs } of handlers) {
    for (const input of inputs) {
      const problem = problemOf(input, `the ${input.kind} of ${place}`);
      if (problem !== undefined) throw new DeclarationError(problem);
    }
  }
}

function problemOf({ type, hasPipe }: Input, place: string): string | undefined {
  if (isArray(type)) {
    return hasPipe
      ? undefined
      : `Nothing validates the items of ${place}: take the array by Nest's ParseArrayPipe.`;
  }
  const validators = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  // `@IsOptional()` and `@ValidateIf()` only say when the others count.
  const constraints = validators.filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION);
  const validated = new Set(constraints.map(({ propertyName }) => propertyName));
  if (validated.size === 0) return hasPipe ? undefined : `${type.name}, ${place}, validates nothing: ${FIX}`;
  const nested = validators.find((each) => each.type === ValidationTypes.NESTED_VALIDATION);
  const properties = [...propertiesOf(type), ...validators.map(({ propertyName }) => propertyName)];
  const object = nested?.propertyName ?? properties.find((name) => hasProperties(type, name));
  if (object !== undefined) {
    return `${type.name}.${object}, in ${place}, is an object with properties of its own, which is not supported yet: declare them in ${type.name} itself.`;
  }
  const unchecked = properties.find((name) => !validated.has(name) && !isReadOnly(type, name));
  return unchecked === undefined
    ? undefined
    : `${type.name}.${unchecked}, in ${place}, is not validated: ${FIX}`;
}

/** Whether the type of a property is a class with documented properties: the pipe looks at none of them. */
function hasProperties({ prototype }: Type<object>, property: string): boolean {
  const type: unknown = Reflect.getMetadata('design:type', prototype, property);
  return isClass(type) && propertiesOf(type).length > 0;
}
