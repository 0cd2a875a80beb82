import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { getMetadataStorage, ValidateBy, ValidateIf, ValidationTypes } from 'class-validator';

/** The facts of every field of a DTO class. */
export interface FieldFacts {
  /** Markdown, for the OpenAPI document. */
  readonly description: string;
  /** True if the member may be left out. */
  readonly optional?: true;
  /** True if the member may be null. */
  readonly nullable?: true;
}

/** The schema of a field in the document, and its validation. */
interface Definition {
  readonly schema: ApiPropertyOptions;
  /** The name of the validator. */
  readonly name: string;
  readonly isValid: (value: unknown) => boolean;
  /** Completes `name must be …`. */
  readonly rule: string;
}

/** Declares a field once: its validation, its schema in the document, and so the output of the serializer. */
export function declareField(facts: FieldFacts, definition: Definition): PropertyDecorator {
  const { schema, name, isValid, rule } = definition;
  return applyDecorators(
    documentField(facts, schema),
    ValidateBy({
      name,
      validator: { validate: isValid, defaultMessage: (args) => `${args?.property} must be ${rule}` },
    }),
  );
}

/** Adds the schema, and switches the validation off for a value that may be missing or null. */
export function documentField(
  { optional, nullable }: FieldFacts,
  schema: ApiPropertyOptions,
): PropertyDecorator {
  const isChecked = (_object: unknown, value: unknown): boolean =>
    !(value === undefined && optional) && !(value === null && nullable);
  const document = optional ? ApiPropertyOptional : ApiProperty;
  return applyDecorators(
    document(nullable ? Object.assign({ nullable }, schema) : schema),
    (target: object, field: string | symbol) => {
      // Without a condition of its own, a required field would have that of an optional field that it overrides.
      if (optional || nullable || hasCondition(target, field)) ValidateIf(isChecked)(target, field);
    },
  );
}

function hasCondition({ constructor }: object, field: string | symbol): boolean {
  return getMetadataStorage()
    .getTargetValidationMetadatas(constructor, '', false, false)
    .some(
      ({ propertyName, type }) => propertyName === field && type === ValidationTypes.CONDITIONAL_VALIDATION,
    );
}
