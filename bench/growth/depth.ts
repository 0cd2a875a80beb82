import { join } from 'node:path';
import { Client } from 'pg';
import { type Sort, SORTS } from '../../src/platform/http/page-query';
import type { Options } from '../options';
import { type ListPlace, serviceList } from '../requests';
import { type Server, startServer } from '../servers';
import { medianOf } from '../statistics';
import type { Table } from '../table';
import { createKey, seedPets, UNLIMITED, type World } from '../world';
import { runLoad, writeRequests } from '../load-generator';
import type { Say } from './growth';

const SIZES = [1_000, 100_000, 5_000_000];
/** The seed has 24 categories. */
const CATEGORY = 7;
const IDS = 20;
/** Small enough for a whole page at each depth of the smallest store. */
const PAGE = 5;

/** A filter of the list with the depths to measure: all for those that the pages of shops use. */
interface Filter {
  readonly name: string;
  readonly depths: readonly number[];
  readonly of: (size: number) => ListPlace;
}

const ALL_DEPTHS = [0, 0.5, 0.99];
const MIDDLE = [0.5];

const FILTERS: readonly Filter[] = [
  { name: 'none', depths: ALL_DEPTHS, of: () => ({}) },
  { name: 'status', depths: ALL_DEPTHS, of: () => ({ status: 'available' }) },
  { name: 'categoryId', depths: MIDDLE, of: () => ({ categoryId: CATEGORY }) },
  {
    name: 'categoryId, status',
    depths: MIDDLE,
    of: () => ({ categoryId: CATEGORY, status: 'available' }),
  },
  { name: `${IDS} ids`, depths: MIDDLE, of: (size) => ({ id: idsOf(size) }) },
];

/** A page at a depth of a store, with its time in each round. */
interface Place {
  readonly size: number;
  readonly filter: string;
  readonly sort: Sort;
  readonly depth: number;
  readonly server: Server;
  readonly file: string;
  readonly milliseconds: number[];
}

/**
 * Measures each place in turn in every round: one client requests the same page repeatedly. The same page of each store
 * follows immediately, so that another load of the machine slows all of them.
 */
export async function measureDepth(world: World, options: Options, say: Say): Promise<Table> {
  const placesBySize: Place[][] = [];
  const servers: Server[] = [];
  try {
    for (const size of SIZES) {
      const url = await fill(world, size, say);
      const server = await startServer('service', { DATABASE_URL: url });
      servers.push(server);
      placesBySize.push(await placesOf(world, url, size, server));
    }
    const places = placesBySize[0]?.flatMap((_, at) => placesBySize.flatMap((of) => of[at] ?? [])) ?? [];
    for (const place of places) await timeOf(place, 1);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const place of places) place.milliseconds.push(await timeOf(place, options.seconds));
      say(`depth ${round + 1}/${options.rounds}`);
    }
    return tableOf(places);
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function fill(world: World, size: number, say: Say): Promise<string> {
  const name = `pets_${size}`;
  await world.createDatabase(name);
  const url = world.urlOf(name);
  say(await seedPets(url, size));
  await once(url, 'VACUUM ANALYZE pets');
  return url;
}

async function placesOf(world: World, url: string, size: number, server: Server): Promise<Place[]> {
  const key = await createKey(url, 'bench', UNLIMITED, UNLIMITED);
  return SORTS.flatMap((sort) =>
    FILTERS.flatMap(({ name: filter, depths, of }) =>
      (sort === 'id' ? depths : MIDDLE).map((depth) => {
        const file = join(world.folder, `depth-${size}-${filter}-${sort}-${depth}.txt`);
        const place = { limit: PAGE, ...of(size), sort, after: idAt(depth, size, sort) };
        writeRequests(file, [{ method: 'GET', path: serviceList(place), key }]);
        return { size, filter, sort, depth, server, file, milliseconds: [] };
      }),
    ),
  );
}

/** Returns the id after which a page at this depth begins; undefined for the first page. */
function idAt(depth: number, size: number, sort: Place['sort']): number | undefined {
  if (depth === 0) return undefined;
  return Math.floor(size * (sort === 'id' ? depth : 1 - depth));
}

/** Returns ids that are spread over the store. */
function idsOf(size: number): number[] {
  return Array.from({ length: IDS }, (_, at) => Math.floor(((at + 1) * size) / IDS));
}

async function timeOf({ server: { url }, file }: Place, seconds: number): Promise<number> {
  const { perSecond } = await runLoad({ url, file, connections: 1, seconds, expectErrors: false });
  return 1_000 / perSecond;
}

function tableOf(places: readonly Place[]): Table {
  const ratio = (place: Place, base: Place | undefined): string =>
    medianOf(
      place.milliseconds.map((each, round) => each / (base?.milliseconds[round] ?? Number.NaN)),
    ).toFixed(2);
  const find = (wanted: Partial<Place>): Place | undefined =>
    places.find((place) =>
      Object.entries(wanted).every(([name, value]) => place[name as keyof Place] === value),
    );
  return {
    title: `A page of ${PAGE}, one client: median time, and how many times that of the first page and of the smallest store`,
    headings: ['filter', 'sort', 'depth', 'animals', 'ms', '÷ depth 0', `÷ ${SIZES[0]} animals`],
    rows: places.map((place) => {
      const { size, filter, sort, depth, milliseconds } = place;
      const first = find({ size, filter, sort, depth: 0 });
      return [
        filter,
        sort,
        `${depth * 100} %`,
        String(size),
        medianOf(milliseconds).toFixed(3),
        first ? ratio(place, first) : '',
        // The smallest store is the first of the list.
        ratio(place, find({ filter, sort, depth })),
      ];
    }),
  };
}

/** Runs a statement on its own connection: VACUUM works only on the connected database. */
async function once(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
