import type { Event, EventType, ListEventsData, ListOrdersData, ListPetsData } from './generated/types.js';
import { type EventFeed, type EventOptions, feedOf, type OwnEvent } from './events.js';
import { operationsOf } from './generated/operations.js';
import { type List, listOf } from './paging.js';
import {
  type AnimalStoreOptions,
  type CallOptions,
  type ChangeOptions,
  type Filters,
  type PostOptions,
  type Query,
  type Reply,
  type RequestOptions,
} from './options.js';
import { Requests } from './request.js';

export { etagOf } from './entity-tags.js';
export { AnimalStoreError, type ErrorCode } from './errors.js';
export type { EventFeed, EventOptions, OwnEvent, TestEvent, WebhookEvent } from './events.js';
export { type Json, stringify, toJSON } from './json.js';
export type {
  ApiKey,
  Event as StoreEvent,
  EventType,
  NewOrder,
  NewPet,
  Order,
  OrderStatus,
  OrderUpdate,
  Pet,
  PetStatus,
  PetUpdate,
} from './generated/types.js';
export type { List } from './paging.js';
export type { AnimalStoreOptions, CallOptions, ChangeOptions, PostOptions, Query, Reply, RequestOptions };
export type { RetryOptions, Wait } from './retry.js';
export { type VerifyOptions, verifyWebhook, type WebhookRequest } from './webhooks.js';

export type PetFilters = Filters<ListPetsData>;
export type OrderFilters = Filters<ListOrdersData>;
/** `Own` are the events of extensions. */
export type EventFilters<Own extends OwnEvent = never> = Omit<Filters<ListEventsData>, 'type'> & {
  readonly type?: EventType | Own['type'] | readonly (EventType | Own['type'])[];
};
export type AnimalStore = ReturnType<typeof createAnimalStore>;

/** The most items of a page: a list takes as few requests as possible. */
const PAGE = { limit: 100 };

/** Creates a client of one deployment with one key. The options of a single call come last. */
export function createAnimalStore(options: AnimalStoreOptions) {
  const requests = new Requests(options);

  /** Sends any request, such as one to an operation of an extension. `path` is below the base address. */
  const request = <T = unknown>(method: string, path: string, own: RequestOptions = {}): Promise<Reply<T>> =>
    requests.send(method, requests.urlOf(path, own.query), own);

  /** Undefined if a filter has no values: without the filter it would be everything. */
  const listUrl = (path: string, query: Query): URL | undefined => {
    const isEmpty = Object.values(query).some((value) => Array.isArray(value) && value.length === 0);
    return isEmpty ? undefined : requests.urlOf(path, query);
  };

  /** Reads any list. It is empty, without a request, if a filter has no values. */
  const list = <T>(path: string, query: Query = {}, own?: CallOptions): List<T> =>
    listOf(listUrl(path, query), (url) => requests.send('GET', url, own));

  /** Follows the events. Unless the options say otherwise, an interruption of the service is waited for without an end. */
  const events = <Own extends OwnEvent = never>(
    filters: EventFilters<Own> = {},
    own: EventOptions = {},
  ): EventFeed<Event | Own> => {
    const { retry: usual = {} } = options;
    const retry = own.retry ?? (usual && { ...usual, budgetMs: Infinity, maxRetries: Infinity });
    const call = own.signal ? { retry, signal: own.signal } : { retry };
    return feedOf(listUrl('/events', { ...PAGE, ...filters }), own, (url) => requests.send('GET', url, call));
  };

  const call = async <T>(method: string, path: string, own?: RequestOptions): Promise<T> =>
    (await request<T>(method, path, own)).data;

  const operations = operationsOf(call, (path, query, own) => list(path, { ...PAGE, ...query }, own));

  return {
    ...operations,
    pets: {
      list: operations.listPets,
      /** @deprecated It will be removed on 5 December 2030. Use `list({ id: [id] })`. */
      get: operations.getPet,
      create: operations.createPet,
      update: operations.updatePet,
      remove: operations.deletePet,
    },
    orders: {
      list: operations.listOrders,
      place: operations.placeOrder,
      get: operations.getOrder,
      update: operations.updateOrder,
    },
    events,
    /** Returns what the key may do, and how much of its limits is left. The request counts in no limit. */
    key: operations.getKey,
    /** The requests that were left after the last response, also of an error; undefined before the first one. */
    get remaining(): number | undefined {
      return requests.remaining;
    },
    request,
    list,
  };
}
