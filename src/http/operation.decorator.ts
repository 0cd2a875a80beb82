import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiOperation } from '@nestjs/swagger';

/**
 * Names an operation in the OpenAPI document; generated clients have a method of the operationId.
 *
 * @param description what the summary cannot say, as Markdown
 */
export function Operation(operationId: string, summary: string, description: string): MethodDecorator {
  return ApiOperation({ operationId, summary, description });
}

/** An operation that the specification does not have: marked `x-extension` in the document, and in words. */
export function Extension(operationId: string, summary: string, description: string): MethodDecorator {
  const words = `${description}\n\nAn extension: this operation goes beyond the specification.`;
  return applyDecorators(ApiExtension('x-extension', true), Operation(operationId, summary, words));
}
