import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { DeclarationError } from './declaration.error';
import type { Handler, Input } from './handlers';
import { propertiesOf } from './swagger-metadata';

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
  const validators = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const nested = validators.find((each) => each.type === ValidationTypes.NESTED_VALIDATION);
  if (nested) {
    return `${type.name}.${nested.propertyName}, in ${place}, has @ValidateNested(), which is not supported yet: declare its properties in ${type.name} itself.`;
  }
  // `@IsOptional()` and `@ValidateIf()` only say when the others count.
  const constraints = validators.filter((each) => each.type !== ValidationTypes.CONDITIONAL_VALIDATION);
  const validated = new Set(constraints.map(({ propertyName }) => propertyName));
  if (validated.size === 0) return hasPipe ? undefined : `${type.name}, ${place}, validates nothing: ${FIX}`;
  const properties = [...propertiesOf(type), ...validators.map(({ propertyName }) => propertyName)];
  const unchecked = properties.find((name) => !validated.has(name));
  return unchecked === undefined
    ? undefined
    : `${type.name}.${unchecked}, in ${place}, is not validated: ${FIX}`;
}
