import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import { routeFacts } from '../routes/route-facts';

/** The `scope` of an operation that every valid key may use. No scope has a space. */
export const ANY_KEY = 'any key';

/** A scope that the key needs, several of which it needs one, or `ANY_KEY`. */
export type RequiredScope = string | readonly string[];

/** The member of an operation that lists its scopes. The key needs one of them; an empty list is for every valid key. */
export const REQUIRED_SCOPES = 'x-required-scopes';

/** Declares the scopes of a route once: for `ScopeGuard` and for the document. */
export function declareScope(scope: RequiredScope): MethodDecorator {
  const scopes = scopesOf(scope);
  return applyDecorators(
    routeFacts(scope === ANY_KEY ? { anyKey: true } : { scopes }),
    ApiBearerAuth(),
    ApiExtension(REQUIRED_SCOPES, scopes),
  );
}

export function scopesOf(scope: RequiredScope): readonly string[] {
  return scope === ANY_KEY ? [] : [scope].flat();
}

/** The sentence that the description of an operation ends with. @param scopes the key needs one of them */
export function scopeSentence(scopes: readonly string[]): string {
  if (scopes.length === 0) return 'Every valid key may use it, without a scope.';
  return `The key needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
}
