import { Page, PageQuery, pageRequestOf } from '../src/api/lists/page';

/** One request of a load. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key: string | undefined;
  readonly body?: object;
}

/** A page of the list, independent of the paging parameters of a server. */
export interface ListPlace {
  readonly limit?: number;
  readonly status?: string | undefined;
  /** The id after which the page begins. */
  readonly after?: number | undefined;
}

/** Returns the path and query of a page in the form that a server expects. */
export type ListAddress = (place: ListPlace) => string;

export const serviceList: ListAddress = ({ limit, status, after }) => {
  const list = pageRequestOf('/pets', Object.assign(new PageQuery(), { status }));
  return address({
    limit,
    status,
    cursor: after === undefined ? undefined : new Page(list, [], BigInt(after)).nextCursor,
  });
};

export const handwrittenList: ListAddress = ({ limit, status, after }) => {
  const cursor = after === undefined ? undefined : Buffer.from(String(after)).toString('base64url');
  return address({ limit, status, cursor });
};

export const textbookList: ListAddress = ({ limit, status, after }) => address({ limit, status, after });

type Parameters = Readonly<Record<string, string | number | undefined>>;

function address(parameters: Parameters): string {
  const query = search(parameters);
  return query === '' ? '/v1/pets' : `/v1/pets?${query}`;
}

function search(parameters: Parameters): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}=${value}`))
    .join('&');
}

/** The facts of the store that a load needs. */
export interface Store {
  readonly pets: number;
  /** The key of an account that never reaches its limits. */
  readonly key: string;
  /** The key of an account that has used its daily quota. */
  readonly exhaustedKey: string;
}

/** A kind of requests, the same for every server. */
export interface Load {
  readonly title: string;
  /** True if every response is a 401 or 429. */
  readonly isRejected?: boolean;
  requests(store: Store, list: ListAddress): BenchRequest[];
}

const DIFFERENT_REQUESTS = 2_000;
const STATUSES = [undefined, 'available', 'pending', 'sold'];
const LIMITS = [5, 10, 20, 20, 20, 50, 100];
/** The mixed load in percent; the remaining requests are creations. */
const MIX = { list: 90, one: 9 };
const MISSPELT = `ask_test_${'x'.repeat(36)}`;

export const loads = {
  hot: { title: 'hot page', requests: ({ key }, list) => [{ method: 'GET', path: list({}), key }] },
  mixed: { title: 'mixed pages', requests: (store, list) => times((random) => page(store, list, random)) },
  one: { title: 'one animal', requests: (store) => times((random) => oneAnimal(store, random)) },
  create: { title: 'create', requests: (store) => times((random) => creation(store, random)) },
  mix: {
    title: '90/9/1 mix',
    requests: (store, list) =>
      times((random, at) => {
        const turn = at % 100;
        if (turn < MIX.list) return page(store, list, random);
        return turn < MIX.list + MIX.one ? oneAnimal(store, random) : creation(store, random);
      }),
  },
  limited: {
    title: '429s',
    isRejected: true,
    requests: ({ exhaustedKey }, list) => [{ method: 'GET', path: list({}), key: exhaustedKey }],
  },
  unknown: {
    title: '401s',
    isRejected: true,
    requests: (_store, list) => [
      { method: 'GET', path: list({}), key: undefined },
      { method: 'GET', path: list({}), key: MISSPELT },
    ],
  },
} as const satisfies Readonly<Record<string, Load>>;

export type LoadName = keyof typeof loads;

type Random = (below: number) => number;

function page({ pets, key }: Store, list: ListAddress, random: Random): BenchRequest {
  const place = {
    limit: LIMITS[random(LIMITS.length)] ?? 20,
    status: STATUSES[random(STATUSES.length)],
    after: random(pets),
  };
  return { method: 'GET', path: list(place), key };
}

function oneAnimal({ pets, key }: Store, random: Random): BenchRequest {
  return { method: 'GET', path: `/v1/pets/${1 + random(pets)}`, key };
}

function creation({ key }: Store, random: Random): BenchRequest {
  return { method: 'POST', path: '/v1/pets', key, body: { name: `Rex ${random(1_000)}`, categoryId: 3 } };
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
