import type { ConfigOf } from '../platform/config/config';
import * as parsers from '../platform/config/parsers';
import { HOUR_MS } from '../platform/runtime/time';

export const orderSettings = {
  orderExpiresAfterHours: {
    variable: 'ORDER_EXPIRES_AFTER_HOURS',
    defaultText: '168',
    parse: parsers.integer(0, 87_600),
    meaning:
      'Hours after which an order that is still `placed` is cancelled; `0`: never. Orders that have an expiry keep it when this changes, but for `0`.',
  },
  ordersMaxOpenPerAccount: {
    variable: 'ORDERS_MAX_OPEN_PER_ACCOUNT',
    defaultText: '1000',
    parse: parsers.integer(0, 1_000_000),
    meaning:
      'Open orders (`placed` or `approved`) that an account may have, exact unless one takes as long as 100 others; `0`: any number.',
  },
} as const;

export type OrderConfig = ConfigOf<typeof orderSettings>;

/** Returns when an order of this time expires; null: never. */
export function expiryOf({ orderExpiresAfterHours }: OrderConfig, placedAt: Date): Date | null {
  return orderExpiresAfterHours > 0 ? new Date(placedAt.getTime() + orderExpiresAfterHours * HOUR_MS) : null;
}
