import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { note } from '../http/operation-notes';
import { routeFacts } from '../http/route-facts';
import type { Scope } from './scopes';

/** The scope that a key needs for this operation. Every operation declares one, or is `@Public()`. */
export function RequireScope(scope: Scope): MethodDecorator {
  return applyDecorators(routeFacts({ scope }), ApiBearerAuth(), note('scope', scope));
}

/** An operation that anyone may call, without a key and without a limit. */
export function Public(): MethodDecorator {
  return routeFacts({ public: true });
}
