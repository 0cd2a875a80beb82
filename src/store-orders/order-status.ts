import type { PetStatus } from '../pets';

/** The states of an order; `delivered` and `cancelled` are final. */
export const ORDER_STATUSES = ['placed', 'approved', 'delivered', 'cancelled'] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** To each state, those from which an order may come to it. */
export const ORDER_TRANSITIONS: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  placed: [],
  approved: ['placed'],
  delivered: ['approved'],
  cancelled: ['placed', 'approved'],
};

/** What an order that comes to a state makes of its animal; undefined: it leaves it as it is. */
export const PET_STATUS_AFTER: Readonly<Record<OrderStatus, PetStatus | undefined>> = {
  placed: 'pending',
  approved: undefined,
  delivered: 'sold',
  cancelled: 'available',
};
