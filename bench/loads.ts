import { Page, PageQuery, pageRequestOf } from '../src/api/lists/page';

/** One request of a load. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly key: string | undefined;
  readonly body?: object;
  /** Makes the request that the connection sends after the response. */
  readonly following?: ((response: string) => BenchRequest) | undefined;
}

/** The facts of the store that a load needs. */
export interface Store {
  /** Of the database. */
  readonly url: string;
  pets: number;
  /** The key of an account that never reaches its limits. */
  readonly key: string;
  /** The key of an account that has used its daily quota. */
  readonly exhaustedKey: string;
  /** The ids of animals that can be ordered. */
  readonly availablePets: readonly string[];
  /** The ids of events. */
  readonly events: readonly string[];
}

/** Infers the names of a table whose entries have the type `Entry`. */
export const named =
  <Entry>() =>
  <Name extends string>(entries: Readonly<Record<Name, Entry>>): Readonly<Record<Name, Entry>> =>
    entries;

/** A kind of requests, the same for every server. */
export interface Load {
  readonly title: string;
  /** True if every response is a 401 or 429. */
  readonly isRejected?: boolean;
  /** The requests of one unit. Default 1. */
  readonly size?: number;
  readonly requests: (store: Store) => BenchRequest[];
}

const DIFFERENT_REQUESTS = 2_000;
const STATUSES = [undefined, 'available', 'pending', 'sold'];
const LIMITS = [5, 10, 20, 20, 20, 50, 100];
/** The mixed load in percent; the remaining requests are creations. */
const MIX = { list: 90, one: 9 };
const MISSPELT = `ask_test_${'x'.repeat(36)}`;

export const loads = named<Load>()({
  hot: { title: 'hot page', requests: ({ key }) => [{ method: 'GET', path: '/v1/pets', key }] },
  mixed: { title: 'mixed pages', requests: (store) => times((random) => page(store, random)) },
  one: { title: 'one animal', requests: (store) => times((random) => oneAnimal(store, random)) },
  create: { title: 'create', requests: (store) => times((random) => creation(store, random)) },
  order: {
    title: 'order',
    size: 2,
    requests: ({ availablePets, key }) => availablePets.map((id) => order(id, key)),
  },
  feed: { title: 'event feed', requests: (store) => times((random) => events(store, random)) },
  mix: {
    title: '90/9/1 mix',
    requests: (store) =>
      times((random, at) => {
        const turn = at % 100;
        if (turn < MIX.list) return page(store, random);
        return turn < MIX.list + MIX.one ? oneAnimal(store, random) : creation(store, random);
      }),
  },
  limited: {
    title: '429s',
    isRejected: true,
    requests: ({ exhaustedKey }) => [{ method: 'GET', path: '/v1/pets', key: exhaustedKey }],
  },
  unknown: {
    title: '401s',
    isRejected: true,
    requests: () => [undefined, MISSPELT].map((key) => ({ method: 'GET', path: '/v1/pets', key })),
  },
});

export type LoadName = keyof typeof loads;

type Random = (below: number) => number;

function page({ pets, key }: Store, random: Random): BenchRequest {
  const limit = LIMITS[random(LIMITS.length)];
  const status = STATUSES[random(STATUSES.length)];
  return { method: 'GET', path: pathOf('/pets', status && `status=${status}`, limit, random(pets)), key };
}

function events({ events: ids, key }: Store, random: Random): BenchRequest {
  const limit = LIMITS[random(LIMITS.length)];
  return { method: 'GET', path: pathOf('/events', '', limit, ids[random(ids.length)]), key };
}

/** Returns the address of the page after an id. Every server reads the id from a cursor of the service. */
function pathOf(list: string, filter = '', limit = 20, after: number | string = 0): string {
  const request = { ...pageRequestOf(list, new PageQuery()), list: `${list}?${filter}` };
  const cursor = new Page(request, [], BigInt(after)).nextCursor;
  return `/v1${list}?limit=${limit}${filter && `&${filter}`}&cursor=${cursor}`;
}

function oneAnimal({ pets, key }: Store, random: Random): BenchRequest {
  return { method: 'GET', path: `/v1/pets/${1 + random(pets)}`, key };
}

function creation({ key }: Store, random: Random): BenchRequest {
  return { method: 'POST', path: '/v1/pets', key, body: { name: `Rex ${random(1_000)}`, categoryId: 3 } };
}

/** Places an order, then cancels it. No animal is left ordered. */
function order(petId: string, key: string): BenchRequest {
  const path = '/v1/store/orders';
  const cancel = (response: string): BenchRequest => {
    const id = /"id":"?(\d+)/.exec(response)?.[1];
    return { method: 'PATCH', path: `${path}/${id}`, key, body: { status: 'cancelled' } };
  };
  return { method: 'POST', path, key, body: { petId: Number(petId) }, following: cancel };
}

/** Generates the same numbers in every run: a linear congruential generator (Numerical Recipes). */
function times(make: (random: Random, at: number) => BenchRequest): BenchRequest[] {
  let state = 1;
  const random: Random = (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: DIFFERENT_REQUESTS }, (_, at) => make(random, at));
}
