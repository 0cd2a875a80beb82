import { applyDecorators } from '@nestjs/common';
import { FromText } from '../from-text.decorator';
import { declareField, type FieldFacts } from './field';

interface DecimalFacts extends FieldFacts {
  readonly min: number;
  readonly max: number;
  readonly example: number;
}

const PLAIN = /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$/;

/** Declares a number (IEEE 754, double precision). For money take an Int64 of the smallest unit. */
export function Decimal({ min, max, example, ...facts }: DecimalFacts): PropertyDecorator {
  const { description } = facts;
  return applyDecorators(
    FromText((text) => (typeof text === 'string' && PLAIN.test(text) ? Number(text) : text)),
    declareField(facts, {
      schema: { type: 'number', format: 'double', minimum: min, maximum: max, description, example },
      name: 'isDecimal',
      rule: `a number from ${min} to ${max}`,
      isValid: (each) => typeof each === 'number' && each >= min && each <= max,
    }),
  );
}
