import type { PetStatus } from '../pets';

/** The statuses of an order; `delivered` and `cancelled` are final. */
export const ORDER_STATUSES = ['placed', 'approved', 'delivered', 'cancelled'] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** A buyer and staff may set a status, or only staff (a key with `orders:manage`). */
export const SET_BY: Readonly<Record<OrderStatus, 'buyer' | 'staff'>> = {
  placed: 'buyer',
  approved: 'staff',
  delivered: 'staff',
  cancelled: 'buyer',
};

export const ORDER_STATUSES_BEFORE: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  placed: [],
  approved: ['placed'],
  delivered: ['approved'],
  cancelled: ['placed', 'approved'],
};

/** The status that an animal gets when its order gets this one; undefined: it keeps its own. */
export const PET_STATUS_AFTER = {
  placed: 'pending',
  approved: undefined,
  delivered: 'sold',
  cancelled: 'available',
} as const satisfies Record<OrderStatus, PetStatus | undefined>;
