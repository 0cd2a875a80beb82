import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { type ANY_KEY, declareScope, scopesOf, scopeSentence } from '../platform/api-docs/required-scopes';
import type { DefinedScope } from '../platform/extension/define-scopes';

/**
 * Declares the scope that a key needs, or `ANY_KEY`, for a route without `@Operation`. A description by `@ApiOperation` replaces the
 * sentence about the scope.
 */
export function RequireScope(scope: DefinedScope | typeof ANY_KEY): MethodDecorator {
  return applyDecorators(
    declareScope(scope),
    ApiOperation({ description: scopeSentence(scopesOf(scope)) }, { overrideExisting: false }),
  );
}
