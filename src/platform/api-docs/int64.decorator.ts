import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';
import { IS_INT64 } from '../http/exact-integers';
import { isInt64, MAX_INT64, MIN_INT64 } from '../http/int64';

/** Validates an int64 of a body, a bigint. class-validator's `@IsInt` accepts only numbers. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: IS_INT64,
    validator: {
      validate: isInt64,
      defaultMessage: (args) => `${args?.property} must be an integer from ${MIN_INT64} to ${MAX_INT64}`,
    },
  });
}

/** Documents an int64. The document adds the bounds; the response serializer prints the bigint exactly. */
export function ApiInt64(description: string, example: number): PropertyDecorator {
  return ApiProperty({ type: 'integer', format: 'int64', description, example });
}
