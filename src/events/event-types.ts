import { insufficientScope, type Principal } from '../auth';
import { petScopes } from '../pets';
import { orderScopes } from '../store-orders';

/** The types of events, by the kind of what changed. */
const PET_TYPES = ['pet.created', 'pet.updated', 'pet.deleted'] as const;
const ORDER_TYPES = ['order.placed', 'order.approved', 'order.delivered', 'order.cancelled'] as const;

export const EVENT_TYPES = [...PET_TYPES, ...ORDER_TYPES] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Some types; null for all. */
export type EventTypes = readonly EventType[] | null;

/** True for an event of an order, which has an account. */
export function isOfOrder(type: EventType): boolean {
  return ORDER_TYPES.some((each) => each === type);
}

/** Lists the scopes of the operations that read what an event has. A key needs one of them. */
function scopesOf(type: EventType): readonly string[] {
  return isOfOrder(type) ? [orderScopes.read, orderScopes.manage] : [petScopes.read];
}

/** Returns the given types that a key may read; null if all types are given and it may read each. */
export function readableTypes({ scopes }: Principal, types: EventTypes): EventTypes {
  const some = types ?? EVENT_TYPES;
  const readable = some.filter((type) => scopesOf(type).some((scope) => scopes.includes(scope)));
  return readable.length === some.length ? types : readable;
}

/** Returns the types that a client asks for, or all that its key may read. @throws ApiError `insufficient_scope` */
export function requestedTypes(principal: Principal, types: EventTypes): EventTypes {
  const readable = readableTypes(principal, types);
  const other = types?.find((type) => readable?.includes(type) !== true);
  if (other !== undefined) throw insufficientScope(...scopesOf(other));
  return readable;
}
