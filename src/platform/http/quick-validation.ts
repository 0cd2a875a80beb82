import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidationTypes, type ValidatorConstraintInterface } from 'class-validator';

type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

/** One validator, or one condition, of a field. */
type Check = (dto: object, value: unknown) => boolean;

/** The checks of a field: the validators apply if all conditions are true. */
interface FieldChecks {
  readonly field: string;
  readonly conditions: readonly Check[];
  readonly validators: readonly Check[];
}

/** True if the object is valid. False says nothing: class-validator decides, and writes the messages. */
export type QuickValidation = (dto: object) => boolean;

/**
 * Compiles the validators of a class once. class-validator collects the metadata of a class and creates an error object
 * for each field again for every value, and nearly every value is valid.
 *
 * @returns undefined for a class with nested objects, lists or asynchronous validators, which only class-validator
 *   validates
 */
export function quickValidationOf(type: Type): QuickValidation | undefined {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  if (!metadata.every(isSimple)) return undefined;
  const fields = [...new Set(metadata.map(({ propertyName }) => propertyName))].map((field) =>
    checksOf(
      field,
      metadata.filter(({ propertyName }) => propertyName === field),
    ),
  );
  return (dto) => fields.every((checks) => isValid(dto, checks));
}

function isSimple(metadata: Metadata): boolean {
  if (metadata.type === ValidationTypes.CONDITIONAL_VALIDATION) return true;
  return (
    metadata.type === ValidationTypes.CUSTOM_VALIDATION &&
    !metadata.each &&
    metadata.validateIf === undefined &&
    constraintsOf(metadata).every(({ async }) => !async)
  );
}

function checksOf(field: string, metadata: readonly Metadata[]): FieldChecks {
  const [conditions, validators] = [[] as Check[], [] as Check[]];
  for (const each of metadata) {
    if (each.type === ValidationTypes.CONDITIONAL_VALIDATION) conditions.push(conditionOf(each));
    else validators.push(...constraintsOf(each).map(({ instance }) => validatorOf(each, instance)));
  }
  return { field, conditions, validators };
}

function isValid(dto: object, { field, conditions, validators }: FieldChecks): boolean {
  const value: unknown = Reflect.get(dto, field);
  if (!conditions.every((check) => check(dto, value))) return true;
  return validators.every((check) => check(dto, value));
}

function conditionOf({ constraints }: Metadata): Check {
  return (dto, value) => Boolean(constraints[0](dto, value));
}

/** A promise counts as invalid, so that class-validator handles it. */
function validatorOf(
  { propertyName: property, constraints }: Metadata,
  instance: ValidatorConstraintInterface,
): Check {
  return (object, value) =>
    instance.validate(value, {
      targetName: object.constructor.name,
      property,
      object,
      value,
      constraints,
    }) === true;
}

function constraintsOf({ constraintCls }: Metadata) {
  return getMetadataStorage().getTargetValidatorConstraints(constraintCls);
}
