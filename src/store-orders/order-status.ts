import type { PetStatus } from '../pets';

/** The statuses of an order; `delivered` and `cancelled` are final. */
export const ORDER_STATUSES = ['placed', 'approved', 'delivered', 'cancelled'] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

export interface Transition {
  readonly from: readonly OrderStatus[];
  /** True if only staff (a key with `orders:manage`) may set the status. */
  readonly isOfStaff: boolean;
  /** The status that the animal of the order gets; undefined: it keeps its own. */
  readonly petStatus: PetStatus | undefined;
}

/** The transitions by the status that an order gets. */
export const TRANSITIONS = {
  placed: { from: [], isOfStaff: false, petStatus: 'pending' },
  approved: { from: ['placed'], isOfStaff: true, petStatus: undefined },
  delivered: { from: ['approved'], isOfStaff: true, petStatus: 'sold' },
  cancelled: { from: ['placed', 'approved'], isOfStaff: false, petStatus: 'available' },
} as const satisfies Record<OrderStatus, Transition>;
