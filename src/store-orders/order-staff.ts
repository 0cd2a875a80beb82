import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AccountsService } from '../accounts';
import { insufficientScope, type Principal } from '../auth';
import type { StoredOrder } from './store-orders.repository';
import type { OrderStatus } from './order-status';
import type { Order } from './store-orders.dto';
import { orderScopes } from './store-orders.scopes';

/** `?account=*`: the orders of all accounts. */
const EVERY_ACCOUNT = '*';

/** The id of no account, because identities begin at 1. It has no orders. */
const NO_ACCOUNT = 0n;

/** The statuses that only the store's staff sets. */
const OF_STAFF: ReadonlySet<OrderStatus> = new Set(['approved', 'delivered']);

/** True for a key of the store's staff: it accesses the orders of every account and sees whose they are. */
export function isStaff({ scopes }: Principal): boolean {
  return scopes.includes(orderScopes.manage);
}

/** @throws ApiError `insufficient_scope` */
export function requireMaySet(principal: Principal, status: OrderStatus): void {
  if (OF_STAFF.has(status) && !isStaff(principal)) throw insufficientScope(orderScopes.manage);
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

/** The names of accounts, which only the store's staff gives and sees. */
@Injectable()
export class OrderAccounts {
  constructor(private readonly accounts: AccountsService) {}

  /**
   * Returns the account whose orders `?account=` lists; without it the caller's own.
   *
   * @returns undefined: all accounts
   */
  async listedBy({ accountId }: Principal, name: string | undefined): Promise<bigint | undefined> {
    if (name === undefined) return accountId;
    if (name === EVERY_ACCOUNT) return undefined;
    return (await this.accounts.find(name))?.id ?? NO_ACCOUNT;
  }

  /** Returns orders as the key sees them: staff sees the names of their accounts. */
  async show(principal: Principal, orders: readonly StoredOrder[]): Promise<readonly Order[]> {
    if (!isStaff(principal)) return orders;
    const names = await this.accounts.namesOf(orders.map(({ accountId }) => accountId));
    return orders.map((order) => ({ ...order, account: names.get(order.accountId) ?? '' }));
  }
}
