import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { insufficientScope, type Principal } from '../auth';
import { orderScopes } from './store-orders.scopes';

/** True for a key of the store's staff: it accesses the orders of every account and sees whose they are. */
export function isStaff({ scopes }: Principal): boolean {
  return scopes.includes(orderScopes.manage);
}

/** Rejects `?account=` of another key, before the query is validated. */
@Injectable()
export class AccountParameterGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { query, principal } = context.switchToHttp().getRequest<FastifyRequest>();
    const isGiven = typeof query === 'object' && query !== null && 'account' in query;
    if (isGiven && !(principal && isStaff(principal))) throw insufficientScope(orderScopes.manage);
    return true;
  }
}
