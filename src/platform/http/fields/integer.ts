import { applyDecorators } from '@nestjs/common';
import { FromText } from '../from-text.decorator';
import { declareField, type FieldFacts } from './field';

interface IntegerFacts extends FieldFacts {
  readonly min: number;
  readonly max: number;
  readonly example: number;
  /** Documents the value of a member that is left out; the class sets it. */
  readonly default?: number;
}

const MAX_INT32 = 2 ** 31 - 1;
const PLAIN = /^(?:0|-?[1-9][0-9]{0,15})$/;

/** Declares an integer that a number holds exactly. In a query it is a plain decimal: not `1e1`, not `01`. */
export function Integer({ min, max, example, default: value, ...facts }: IntegerFacts): PropertyDecorator {
  const { description } = facts;
  const preset = value === undefined ? {} : { default: value };
  return applyDecorators(
    FromText((text) => (typeof text === 'string' && PLAIN.test(text) ? Number(text) : text)),
    declareField(facts, {
      schema: {
        type: 'integer',
        format: min >= -MAX_INT32 - 1 && max <= MAX_INT32 ? 'int32' : 'int64',
        minimum: min,
        maximum: max,
        ...preset,
        description,
        example,
      },
      name: 'isInteger',
      rule: `a whole number from ${min} to ${max}`,
      isValid: (each) => Number.isSafeInteger(each) && Number(each) >= min && Number(each) <= max,
    }),
  );
}
