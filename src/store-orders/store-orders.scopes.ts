import { defineScopes } from '../platform/extension/extension';
import type { Principal } from '../platform/routes/request-context';

export const orderScopes = defineScopes('orders', 'read', 'write', 'manage');

/** True for a key of the store's staff: it accesses the orders of every account and sees whose they are. */
export function isStaff({ scopes }: Principal): boolean {
  return scopes.includes(orderScopes.manage);
}
