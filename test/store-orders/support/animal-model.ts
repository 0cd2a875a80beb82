import type { OrderStatus } from '../../../src/store-orders/order-status';
import type { PetStatus } from '../../../src/pets/pet-status';

interface ModelPet {
  readonly name: string;
  readonly categoryId: number;
  readonly status: PetStatus;
}

interface ModelOrder {
  readonly account: string;
  readonly status: OrderStatus;
}

/** One animal with its orders, as sequential requests leave them. */
export interface AnimalState {
  readonly petId: number;
  /** Undefined: the animal was removed. */
  readonly pet: ModelPet | undefined;
  readonly orders: Readonly<Record<string, ModelOrder>>;
  /** The ids of orders by account and Idempotency-Key. */
  readonly keyed: Readonly<Record<string, number>>;
}

/** The client of a request. */
export interface Asker {
  readonly account: string;
  readonly isStaff: boolean;
}

/** `If-Match`: an entity tag with the version that it names, `*`, or a tag of no version. */
export interface Condition {
  readonly tag: string;
  readonly version: string | undefined;
}

/** A request that concerns one animal. */
export type AnimalRequest = { readonly asker: Asker; readonly condition?: Condition | undefined } & (
  | { readonly kind: 'getPet' | 'deletePet' }
  | { readonly kind: 'updatePet'; readonly change: Partial<ModelPet> }
  | { readonly kind: 'placeOrder'; readonly idempotencyKey: string | undefined }
  | { readonly kind: 'getOrder'; readonly orderId: number }
  | { readonly kind: 'updateOrder'; readonly orderId: number; readonly status: OrderStatus }
);

/** A response: its status, the code of an error, and the body. */
export interface AnimalResponse {
  readonly status: number;
  readonly code?: string | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

type Of<Kind> = AnimalRequest & { readonly kind: Kind };

interface Outcome {
  readonly response: AnimalResponse;
  readonly state: AnimalState;
}

const BEFORE: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  placed: [],
  approved: ['placed'],
  delivered: ['approved'],
  cancelled: ['placed', 'approved'],
};
const PET_AFTER: Partial<Record<OrderStatus, PetStatus>> = { delivered: 'sold', cancelled: 'available' };

/** Returns the version of a resource: two responses have the same ETag if their versions are equal. */
export function versionOf({ name, status, categoryId }: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([name, status, categoryId]);
}

/** Returns the state after a request, or undefined if its response does not follow from the state. */
export function explain(
  state: AnimalState,
  request: AnimalRequest,
  response: AnimalResponse,
): AnimalState | undefined {
  if (response.code === 'idempotency_key_in_use')
    return request.kind === 'placeOrder' && request.idempotencyKey !== undefined ? state : undefined;
  const expected = respond(state, request, Number(response.body?.['id']));
  return isSame(expected.response, response) ? expected.state : undefined;
}

function isSame(expected: AnimalResponse, response: AnimalResponse): boolean {
  return (
    expected.status === response.status &&
    expected.code === response.code &&
    Object.entries(expected.body ?? {}).every(([name, value]) => response.body?.[name] === value)
  );
}

/** @param newId the id that the service has assigned, if the request creates an order */
function respond(state: AnimalState, request: AnimalRequest, newId: number): Outcome {
  if (request.kind === 'placeOrder') return place(state, request, newId);
  return request.kind === 'getOrder' || request.kind === 'updateOrder'
    ? respondToOrder(state, request)
    : respondToPet(state, request);
}

function place(
  state: AnimalState,
  { asker: { account }, idempotencyKey }: Of<'placeOrder'>,
  newId: number,
): Outcome {
  const { petId, pet, orders, keyed } = state;
  const key = `${account} ${idempotencyKey}`;
  const show = (id: number): AnimalResponse => ({ status: 201, body: { id, petId, status: 'placed' } });
  const first = idempotencyKey === undefined ? undefined : keyed[key];
  if (first !== undefined) return { response: show(first), state };
  if (!pet) return reject(state, 404, 'pet_not_found');
  if (pet.status !== 'available' || newId in orders) return reject(state, 409, 'pet_not_available');
  const placed: AnimalState = {
    petId,
    pet: { ...pet, status: 'pending' },
    orders: { ...orders, [newId]: { account, status: 'placed' } },
    keyed: idempotencyKey === undefined ? keyed : { ...keyed, [key]: newId },
  };
  return { response: show(newId), state: placed };
}

function respondToOrder(state: AnimalState, request: Of<'getOrder' | 'updateOrder'>): Outcome {
  const { asker, condition, orderId } = request;
  const { petId, pet, orders } = state;
  const order = orders[orderId];
  const target = request.kind === 'updateOrder' ? request.status : order?.status;
  if (!asker.isStaff && request.kind === 'updateOrder' && target !== 'cancelled')
    return reject(state, 403, 'insufficient_scope');
  if (!order || !target || (!asker.isStaff && order.account !== asker.account))
    return reject(state, 404, 'order_not_found');
  if (request.kind === 'updateOrder' && excludes(condition, { ...order }))
    return reject(state, 412, 'precondition_failed');
  const account = asker.isStaff ? order.account : undefined;
  const response = { status: 200, body: { id: orderId, petId, status: target, account } };
  if (target === order.status) return { response, state };
  if (!BEFORE[target].includes(order.status)) return reject(state, 409, 'invalid_transition');
  const petStatus = PET_AFTER[target];
  const changedPet = pet && petStatus ? { ...pet, status: petStatus } : pet;
  const changedOrders = { ...orders, [orderId]: { ...order, status: target } };
  return { response, state: { ...state, pet: changedPet, orders: changedOrders } };
}

function respondToPet(state: AnimalState, request: Of<'getPet' | 'updatePet' | 'deletePet'>): Outcome {
  const { petId, pet, orders } = state;
  if (request.kind !== 'getPet' && !request.asker.isStaff) return reject(state, 403, 'insufficient_scope');
  if (!pet) return reject(state, 404, 'pet_not_found');
  if (request.kind === 'getPet') return { response: { status: 200, body: { id: petId, ...pet } }, state };
  if (excludes(request.condition, { ...pet })) return reject(state, 412, 'precondition_failed');
  const changed = request.kind === 'updatePet' ? { ...pet, ...request.change } : undefined;
  const isHeld = Object.values(orders).some(({ status }) => status === 'placed' || status === 'approved');
  if (isHeld && changed?.status !== pet.status) return reject(state, 409, 'pet_has_open_order');
  const response = changed ? { status: 200, body: { id: petId, ...changed } } : { status: 204 };
  return { response, state: { ...state, pet: changed } };
}

function reject(state: AnimalState, status: number, code: string): Outcome {
  return { response: { status, code }, state };
}

function excludes(condition: Condition | undefined, current: Readonly<Record<string, unknown>>): boolean {
  return condition !== undefined && condition.tag !== '*' && condition.version !== versionOf(current);
}
