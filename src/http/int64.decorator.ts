import { ApiParam, ApiProperty } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';
import { isInt64, MAX_INT64, MIN_INT64 } from './int64';

/** An int64 in a body, read as an exact bigint; class-validator's own `@IsInt` knows only numbers. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: isInt64,
      defaultMessage: (args) => `${args?.property} must be an integer from ${MIN_INT64} to ${MAX_INT64}`,
    },
  });
}

/** The same in the OpenAPI document, which adds the bounds, and in the response serializer, which prints a bigint. */
export function ApiInt64(description: string, example: number): PropertyDecorator {
  return ApiProperty({ type: 'integer', format: 'int64', description, example });
}

/** An int64 in the path. */
export function ApiIdParam(name: string, description: string): MethodDecorator {
  return ApiParam({ name, description, example: 1, schema: { type: 'integer', format: 'int64' } });
}
