import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { declareScope, scopeSentence } from '../platform/api-docs/required-scopes';
import type { DefinedScope } from '../platform/extension/define-scopes';

/**
 * Declares the scope that a key needs, for a route without `@Operation`. A description by `@ApiOperation` replaces the
 * sentence about the scope.
 */
export function RequireScope(scope: DefinedScope): MethodDecorator {
  return applyDecorators(
    declareScope(scope),
    ApiOperation({ description: scopeSentence([scope]) }, { overrideExisting: false }),
  );
}
