import { applyDecorators, type Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { declareField, type FieldFacts, isObject } from './field';

/** Declares an object of another DTO class. */
export function Nested(type: () => Type, facts: FieldFacts): PropertyDecorator {
  return applyDecorators(
    ClassOf(type),
    ValidateNested(),
    declareField(
      facts,
      // @nestjs/swagger recognises a function by its name, `type`.
      { type: () => type(), description: facts.description },
      // `@ValidateNested()` accepts an array and validates its items.
      { name: 'isOneObject', rule: 'a JSON object', isValid: isObject },
    ),
  );
}

interface ListFacts extends FieldFacts {
  /** The largest number of items. */
  readonly max: number;
}

/** Declares a list of objects of another DTO class. */
export function ListOf(type: () => Type, { max, ...facts }: ListFacts): PropertyDecorator {
  return applyDecorators(
    ClassOf(type),
    ValidateNested({ each: true }),
    declareField(
      facts,
      { type: () => type(), isArray: true, maxItems: max, description: facts.description },
      {
        name: 'isListOfObjects',
        rule: `a list of at most ${max} JSON objects`,
        isValid: (value) => Array.isArray(value) && value.length <= max && value.every(isObject),
      },
    ),
  );
}
