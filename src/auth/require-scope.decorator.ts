import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { Refuses } from '../http/answers.decorator';
import { routeFacts } from '../http/route-facts';
import type { Scope } from './scopes';

/** The scope that a key needs for this operation. Every operation declares one, or is `@Public()`. */
export function RequireScope(scope: Scope): MethodDecorator {
  return applyDecorators(
    routeFacts({ scope }),
    ApiBearerAuth(),
    Refuses(401, 'The API key is missing or invalid.'),
    Refuses(403, `The API key lacks the scope \`${scope}\`.`),
  );
}

/** An operation that anyone may call, without a key and without a limit. */
export function Public(): MethodDecorator {
  return routeFacts({ public: true });
}
