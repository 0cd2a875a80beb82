import type { Sort } from '../src/platform/paging/page';
import { medianOf, type Table } from './figures';
import { runLoad } from './load-generator';
import { type BenchRequest, type ListPlace, serviceList } from './loads';
import type { Options } from './options';
import { type Server, startServer } from './servers';
import { createKey, seedPets, tidyUp, UNLIMITED, type World } from './world';

/** Multiples of --pets; the smallest size has 1,000 animals. */
const MULTIPLES = [0.1, 5];
const SMALLEST = 1_000;
/** The seed has 24 categories. */
const CATEGORY = 7;
const IDS = 20;
/** Small enough for a whole page at each depth of the smallest store. */
const PAGE = 5;
const MIDDLE = [0.5];
const ALL_DEPTHS = [0, 0.5, 0.99];

/** The filters of the list, at all depths for those that the pages of shops use. */
const FILTERS: readonly (readonly [
  name: string,
  depths: readonly number[],
  of: (size: number) => ListPlace,
])[] = [
  ['none', ALL_DEPTHS, () => ({})],
  ['status', ALL_DEPTHS, () => ({ status: 'available' })],
  ['categoryId', MIDDLE, () => ({ categoryId: CATEGORY })],
  ['categoryId, status', MIDDLE, () => ({ categoryId: CATEGORY, status: 'available' })],
  [`${IDS} ids`, MIDDLE, (size) => ({ id: idsOf(size) })],
];

/** A page at a depth of a store, with its time in each round. */
interface Place {
  readonly size: number;
  readonly filter: string;
  readonly sort: Sort;
  readonly depth: number;
  readonly port: number;
  readonly request: BenchRequest;
  readonly milliseconds: number[];
}

/**
 * Measures each place in turn in every round: one client requests the same page repeatedly. The same page of each store
 * follows immediately, so that another load of the machine slows all of them.
 */
export async function measureDepth(
  world: World,
  { pets, rounds, seconds }: Options,
  say: (line: string) => void,
): Promise<Table> {
  const placesBySize: Place[][] = [];
  const servers: Server[] = [];
  try {
    for (const size of [SMALLEST, ...MULTIPLES.map((multiple) => pets * multiple)]) {
      const url = await world.createDatabase(`pets_${size}`);
      say(await seedPets(url, size));
      await tidyUp(url);
      const server = await startServer('service', { DATABASE_URL: url });
      servers.push(server);
      placesBySize.push(placesOf(await createKey(url, 'bench', UNLIMITED), size, server));
    }
    const places = placesBySize[0]?.flatMap((_, at) => placesBySize.flatMap((of) => of[at] ?? [])) ?? [];
    for (const place of places) await timeOf(place, 1);
    for (let round = 0; round < rounds; round += 1) {
      for (const place of places) place.milliseconds.push(await timeOf(place, seconds));
      say(`depth ${round + 1}/${rounds}`);
    }
    return tableOf(places);
  } finally {
    for (const server of servers) await server.stop();
  }
}

function placesOf(key: string, size: number, { port }: Server): Place[] {
  return (['id', '-id'] as const).flatMap((sort) =>
    FILTERS.flatMap(([filter, depths, of]) =>
      (sort === 'id' ? depths : MIDDLE).map((depth) => {
        const path = serviceList({ limit: PAGE, ...of(size), sort, after: idAt(depth, size, sort) });
        return { size, filter, sort, depth, port, request: { method: 'GET', path, key }, milliseconds: [] };
      }),
    ),
  );
}

/** Returns the id after which a page at this depth begins; undefined for the first page. */
function idAt(depth: number, size: number, sort: Sort): number | undefined {
  if (depth === 0) return undefined;
  return Math.floor(size * (sort === 'id' ? depth : 1 - depth));
}

/** Returns ids that are spread over the store. */
function idsOf(size: number): number[] {
  return Array.from({ length: IDS }, (_, at) => Math.floor(((at + 1) * size) / IDS));
}

async function timeOf({ port, request }: Place, seconds: number): Promise<number> {
  const { perSecond } = await runLoad({ port, requests: [request], connections: 1, seconds });
  return 1_000 / perSecond;
}

function tableOf(places: readonly Place[]): Table {
  return {
    title: `A page of ${PAGE}, one client: median time, and how many times that of the first page and of the smallest store`,
    headings: ['filter', 'sort', 'depth', 'animals', 'ms', '÷ depth 0', `÷ ${SMALLEST} animals`],
    rows: places.map(({ size, filter, sort, depth, milliseconds }) => {
      const same = places.filter((each) => each.filter === filter && each.sort === sort);
      const ratioTo = (isBase: (each: Place) => boolean): string => {
        const base = same.find(isBase)?.milliseconds;
        return base ? medianOf(milliseconds.map((ms, round) => ms / base[round]!)).toFixed(2) : '';
      };
      return [
        filter,
        sort,
        `${depth * 100} %`,
        `${size}`,
        medianOf(milliseconds).toFixed(3),
        ratioTo((each) => each.size === size && each.depth === 0),
        ratioTo((each) => each.size === SMALLEST && each.depth === depth),
      ];
    }),
  };
}
