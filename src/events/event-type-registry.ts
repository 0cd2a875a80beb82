import { Injectable } from '@nestjs/common';
import { insufficientScope, type Principal } from '../auth';
import { petEventTypes } from '../pets';
import type { EventTypes } from '../api/extension/extension';
import { orderEventTypes } from '../store-orders';

/** The types of the store's own events. */
export const EVENT_TYPES: readonly string[] = Object.keys({ ...petEventTypes, ...orderEventTypes });

/** The types that requests may name: those of the store that was started last, as a process has one. */
export const KNOWN_TYPES = [...EVENT_TYPES];

/** Some types; null for all of the store's own. */
export type TypeFilter = readonly string[] | null;

/** The types of events of this store, and the keys that may read them. */
@Injectable()
export class EventTypeRegistry {
  private types: EventTypes = {};

  /** Sets the types of all extensions, the store's own included. */
  declare(types: EventTypes): void {
    this.types = types;
    KNOWN_TYPES.splice(0, KNOWN_TYPES.length, ...Object.keys(types));
  }

  /** Returns the facts of a type of an extension. @throws Error if none declares it */
  ofExtension(type: string) {
    const { [type]: facts } = this.types;
    if (facts && !EVENT_TYPES.includes(type)) return facts;
    throw new Error(`No extension declares the events ${type}: add them to \`events\` of @StoreExtension().`);
  }

  /** True if a reader sees the events of every account. Of an extension that was removed it never does. */
  isOfAll(type: string, scopes: readonly string[] = []): boolean {
    const { isShared = false, staffScope = '' } = this.types[type] ?? {};
    return isShared || scopes.includes(staffScope);
  }

  /** Returns the given types that a key may read; null if all of the store's own are given and it may read each. */
  readable({ scopes }: Principal, types: TypeFilter): TypeFilter {
    const some = types ?? EVENT_TYPES;
    const readable = some.filter((type) => this.scopesOf(type).some((scope) => scopes.includes(scope)));
    return readable.length === some.length ? types : readable;
  }

  /** Returns the types that a client asks for, or all that its key may read. @throws ApiError `insufficient_scope` */
  requested(principal: Principal, types: TypeFilter): TypeFilter {
    const readable = this.readable(principal, types ?? Object.keys(this.types)) ?? [];
    const other = types?.find((type) => !readable.includes(type));
    if (other !== undefined) throw insufficientScope(...this.scopesOf(other));
    return types ?? (String(readable) === String(EVENT_TYPES) ? null : readable);
  }

  /** Lists the scopes of which a key needs one. */
  private scopesOf(type: string): readonly string[] {
    return [this.types[type]?.scope ?? []].flat();
  }
}
