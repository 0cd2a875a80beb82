import { applyDecorators, type Type } from '@nestjs/common';
import { Type as ClassOf } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { declareField, type FieldFacts } from './field';

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

/** True for a JSON object. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const CLASSES_WITH_MEMBER = new Set<Parameters<ClassDecorator>[0]>();

/** Requires at least one member of a DTO class whose members are all optional. */
export function AtLeastOne(): ClassDecorator {
  return (target) => {
    CLASSES_WITH_MEMBER.add(target);
  };
}

export function needsMember(type: Type): boolean {
  return CLASSES_WITH_MEMBER.has(type);
}

/** Lists the names of the classes that need a member, which are those of their schemas. */
export function classesWithMember(): readonly string[] {
  return [...CLASSES_WITH_MEMBER].map(({ name }) => name);
}
