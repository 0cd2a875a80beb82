import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiOperation } from '@nestjs/swagger';
import { scopeSentence } from '../platform/api-docs/operation.decorator';
import { routeFacts } from '../platform/http/route-facts';
import type { DefinedScope } from '../platform/extension/define-scopes';

/**
 * Declares the scope that a key needs, for a route without `@Operation`. A description by `@ApiOperation` replaces the
 * sentence about the scope.
 */
export function RequireScope(scope: DefinedScope): MethodDecorator {
  return applyDecorators(
    routeFacts({ scopes: [scope] }),
    ApiBearerAuth(),
    ApiOperation({ description: scopeSentence([scope]) }, { overrideExisting: false }),
  );
}
