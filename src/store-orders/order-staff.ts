import type { Principal } from '../auth';
import { orderScopes } from './store-orders.scopes';

/** True for a key of the store's staff: it accesses the orders of every account and sees whose they are. */
export function isStaff({ scopes }: Principal): boolean {
  return scopes.includes(orderScopes.manage);
}
