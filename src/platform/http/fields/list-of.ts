import { applyDecorators, type Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { ValidateBy, ValidateNested } from 'class-validator';
import { documentField, type FieldFacts } from './field';

interface ListFacts extends FieldFacts {
  /** The largest number of items. */
  readonly max: number;
}

/** Declares a list of objects of another DTO class. */
export function ListOf(type: () => Type, { max, ...facts }: ListFacts): PropertyDecorator {
  const { description } = facts;
  return applyDecorators(
    documentField(facts, { type: () => type(), isArray: true, maxItems: max, description }),
    ClassOf(type),
    ValidateNested({ each: true }),
    ValidateBy({
      name: 'isListOfObjects',
      validator: {
        validate: (value) => Array.isArray(value) && value.length <= max && value.every(isObject),
        defaultMessage: (args) => `${args?.property} must be a list of at most ${max} JSON objects`,
      },
    }),
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
