import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import { routeFacts } from '../http/route-facts';

/** The member of an operation that lists its scopes. The key needs one of them. */
export const REQUIRED_SCOPES = 'x-required-scopes';

/** Declares the scopes of a route once: for the request check and for the document. */
export function requireScopes(scopes: readonly string[]): MethodDecorator {
  return applyDecorators(routeFacts({ scopes }), ApiBearerAuth(), ApiExtension(REQUIRED_SCOPES, scopes));
}

/** The sentence that the description of an operation ends with. @param scopes the key needs one of them */
export function scopeSentence(scopes: readonly string[]): string {
  return `The key needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
}
