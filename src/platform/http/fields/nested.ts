import { applyDecorators, type Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { ValidateBy, ValidateNested } from 'class-validator';
import { documentField, type FieldFacts } from './field';

/** Declares an object of another DTO class. */
export function Nested(type: () => Type, facts: FieldFacts): PropertyDecorator {
  const { description } = facts;
  return applyDecorators(
    // @nestjs/swagger recognises a function by its name, `type`.
    documentField(facts, { type: () => type(), description }),
    ClassOf(type),
    ValidateNested(),
    // `@ValidateNested()` accepts an array and validates its items.
    ValidateBy({
      name: 'isOneObject',
      validator: {
        validate: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
        defaultMessage: (args) => `${args?.property} must be a JSON object`,
      },
    }),
  );
}
