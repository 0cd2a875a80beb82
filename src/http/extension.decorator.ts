import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiOperation } from '@nestjs/swagger';

/** Marks an operation that the specification does not have, in the document: `x-extension`, and in words. */
export function Extension(description: string): MethodDecorator {
  return applyDecorators(
    ApiExtension('x-extension', true),
    ApiOperation({
      description: `${description}\n\nAn extension: this operation goes beyond the specification.`,
    }),
  );
}
