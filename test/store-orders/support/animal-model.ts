import type { PetStatus } from '../../../src/pets/pet-status';
import type { OrderStatus } from '../../../src/store-orders/order-status';

/** One animal with its orders, as sequential requests leave them. */
export interface AnimalState {
  /** Undefined: the animal was removed. */
  readonly pet: { readonly name: string; readonly status: PetStatus } | undefined;
  readonly orders: Readonly<Record<number, OrderStatus>>;
}

/** A request that concerns one animal. */
export interface AnimalRequest {
  readonly kind: 'getPet' | 'updatePet' | 'deletePet' | 'placeOrder' | 'getOrder' | 'updateOrder';
  readonly orderId?: number;
  readonly body?: object;
  /** `If-Match`: an entity tag, with the animal of its response as `summaryOf` tells it. */
  readonly seen?: { readonly tag: string; readonly summary: string } | undefined;
}

const BEFORE: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  placed: [],
  approved: ['placed'],
  delivered: ['approved'],
  cancelled: ['placed', 'approved'],
};
const PET_AFTER: Partial<Record<OrderStatus, PetStatus>> = { delivered: 'sold', cancelled: 'available' };

/** Returns the members of a body that the model knows: the code of an error, or name and status. */
export function summaryOf({ code, name, status }: { code?: string; name?: string; status: string }): string {
  return code ?? (name === undefined ? status : `${name}, ${status}`);
}

/**
 * Returns the state after a request, or undefined if its response does not follow from the state.
 *
 * @param newId the id that the service has assigned, if the request creates an order
 */
export function explain(
  state: AnimalState,
  request: AnimalRequest,
  response: string,
  newId: number,
): AnimalState | undefined {
  const [expected, next] =
    request.orderId === undefined ? ofPet(state, request, newId) : ofOrder(state, request);
  return expected === response ? next : undefined;
}

type Outcome = readonly [response: string, state: AnimalState];

function ofPet(state: AnimalState, { kind, body, seen }: AnimalRequest, newId: number): Outcome {
  const { pet, orders } = state;
  // With If-Match the animal may have been removed before, and its response was lost.
  if (!pet) return [kind === 'deletePet' && seen ? '204 ' : '404 pet_not_found', state];
  if (kind === 'getPet') return [`200 ${summaryOf(pet)}`, state];
  if (kind === 'placeOrder') {
    if (pet.status !== 'available' || newId in orders) return ['409 pet_not_available', state];
    return ['201 placed', { pet: { ...pet, status: 'pending' }, orders: { ...orders, [newId]: 'placed' } }];
  }
  const changed = kind === 'updatePet' ? { ...pet, ...body } : undefined;
  const isInForce = changed !== undefined && summaryOf(changed) === summaryOf(pet);
  if (seen && seen.summary !== summaryOf(pet) && !isInForce) return ['412 precondition_failed', state];
  const isHeld = Object.values(orders).some((status) => status === 'placed' || status === 'approved');
  if (isHeld && changed?.status !== pet.status) return ['409 pet_has_open_order', state];
  return [changed ? `200 ${summaryOf(changed)}` : '204 ', { pet: changed, orders }];
}

function ofOrder(state: AnimalState, { orderId = 0, body }: AnimalRequest): Outcome {
  const { pet, orders } = state;
  const current = orders[orderId];
  if (current === undefined) return ['404 order_not_found', state];
  const { status: target = current } = (body ?? {}) as { status?: OrderStatus };
  if (target === current) return [`200 ${current}`, state];
  if (!BEFORE[target].includes(current)) return ['409 invalid_transition', state];
  const changed = pet && { ...pet, status: PET_AFTER[target] ?? pet.status };
  return [`200 ${target}`, { pet: changed, orders: { ...orders, [orderId]: target } }];
}

/** A request with its response, as a client saw them. */
export interface Observed {
  /** Moments of one clock: a request that began after the end of another one was served after it. */
  readonly begin: number;
  readonly end: number;
  /** Request and response, for a report. */
  readonly text: string;
  /** Returns the state after the request, or undefined if the response does not follow from `state`. */
  readonly apply: (state: AnimalState) => AnimalState | undefined;
}

/**
 * Returns true if some order of the requests explains every response (linearizability: Wing and Gong, 1993). Each
 * request takes effect at one moment between its begin and its end.
 */
export function isLinearizable(history: readonly Observed[], initial: AnimalState): boolean {
  const failed = new Set<string>();

  function isExplained(pending: readonly Observed[], state: AnimalState): boolean {
    if (pending.length === 0) return true;
    const key = `${pending.map(({ begin }) => begin).join()} ${JSON.stringify(state)}`;
    if (failed.has(key)) return false;
    const firstEnd = Math.min(...pending.map(({ end }) => end));
    const next = pending
      .filter(({ begin }) => begin < firstEnd)
      .map((observed) => ({ observed, after: observed.apply(state) }))
      .filter((each): each is typeof each & { after: AnimalState } => each.after !== undefined);
    // A request without effect that can be served now need not wait for another one.
    const idle = next.find(({ after }) => after === state);
    const found = (idle ? [idle] : next).some(({ observed, after }) =>
      isExplained(
        pending.filter((other) => other !== observed),
        after,
      ),
    );
    if (!found) failed.add(key);
    return found;
  }

  return isExplained(
    history.toSorted((one, other) => one.begin - other.begin),
    initial,
  );
}
