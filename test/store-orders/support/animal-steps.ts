import * as fc from 'fast-check';
import type { PetStatus } from '../../../src/pets/pet-status';
import type { OrderStatus } from '../../../src/store-orders/order-status';
import type { AnimalRequest } from './animal-model';

/** Of each account, for each animal: so few that clients also repeat one. */
const IDEMPOTENCY_KEYS = 3;
/** A step chooses from so many latest orders: earlier ones are mostly final. */
const LATEST_ORDERS = 6;
const MAX_ANIMALS = 20;

/** One random request of a client. */
export interface Step {
  readonly kind: AnimalRequest['kind'] | 'createPet';
  /** A number that chooses an animal of the walk. */
  readonly animal: number;
  /** The number of the order, counted from the latest. */
  readonly order: number;
  /** `known`: the last entity tag that any client has seen. */
  readonly ifMatch: 'none' | 'known' | '*' | '"another"';
  /** The new status of the animal; undefined keeps it. */
  readonly status: PetStatus | undefined;
  /** The new status of the order. */
  readonly target: OrderStatus;
  readonly idempotencyKey: number | undefined;
}

const COMMON = {
  animal: fc.nat(MAX_ANIMALS - 1),
  order: fc.nat(LATEST_ORDERS - 1),
  ifMatch: fc.constantFrom(...repeated({ none: 3, known: 5, '*': 1, '"another"': 1 })),
  status: fc.constantFrom(undefined, ...repeated({ available: 2, pending: 1, sold: 1 }), undefined),
  idempotencyKey: fc.option(fc.nat(IDEMPOTENCY_KEYS - 1), { nil: undefined }),
} as const;

/** A buyer now and then tries what only the staff may do. */
export const STEP_OF_BUYER: fc.Arbitrary<Step> = fc.record({
  ...COMMON,
  kind: fc.constantFrom(
    ...repeated({ placeOrder: 5, updateOrder: 2, createPet: 1, getPet: 1, getOrder: 1, updatePet: 1 }),
  ),
  target: fc.constantFrom(...repeated({ cancelled: 4, approved: 1 })),
});

export const STEP_OF_STAFF: fc.Arbitrary<Step> = fc.record({
  ...COMMON,
  kind: fc.constantFrom(...repeated({ updatePet: 4, deletePet: 1, updateOrder: 3, getPet: 1, getOrder: 1 })),
  target: fc.constantFrom(...repeated({ approved: 2, delivered: 2, cancelled: 1 })),
});

function repeated<Value extends string>(weights: Readonly<Record<Value, number>>): Value[] {
  // Object.entries names the keys as text.
  return Object.entries<number>(weights).flatMap(([value, weight]) =>
    Array<Value>(weight).fill(value as Value),
  );
}
