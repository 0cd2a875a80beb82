import { applyDecorators } from '@nestjs/common';
import { FromText } from '../from-text.decorator';
import { declareField, type FieldFacts } from './field';

interface FlagFacts extends FieldFacts {
  readonly example: boolean;
}

const TEXTS = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
]);

/** Declares a boolean; `true` or `false` in a query. */
export function Flag({ example, ...facts }: FlagFacts): PropertyDecorator {
  const { description } = facts;
  return applyDecorators(
    FromText((text) => TEXTS.get(text) ?? text),
    declareField(facts, {
      schema: { type: 'boolean', description, example },
      name: 'isFlag',
      rule: 'true or false',
      isValid: (value) => typeof value === 'boolean',
    }),
  );
}
