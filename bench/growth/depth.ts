import { join } from 'node:path';
import { Client } from 'pg';
import type { Options } from '../options';
import { serviceList } from '../requests';
import { type Server, startServer } from '../servers';
import { medianOf } from '../statistics';
import type { Table } from '../table';
import { createKey, seedPets, UNLIMITED, type World } from '../world';
import { runLoad, writeRequests } from '../load-generator';
import type { Say } from './growth';

const SIZES = [1_000, 100_000, 5_000_000];
const DEPTHS = [0, 0.5, 0.99];
const STATUSES = [undefined, 'available'];
/** Small enough for a whole page at 99 % of the smallest store. */
const PAGE = 5;

/** A page at a depth of a store, with its time in each round. */
interface Place {
  readonly size: number;
  readonly status: string | undefined;
  readonly depth: number;
  readonly server: Server;
  readonly file: string;
  readonly milliseconds: number[];
}

/** Measures each place in turn in every round: one client requests the same page repeatedly. */
export async function measureDepth(world: World, options: Options, say: Say): Promise<Table> {
  const places: Place[] = [];
  const servers: Server[] = [];
  try {
    for (const size of SIZES) {
      const url = await fill(world, size, say);
      const server = await startServer('service', { DATABASE_URL: url });
      servers.push(server);
      places.push(...(await placesOf(world, url, size, server)));
    }
    for (const place of places) await timeOf(place, 1);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const place of places) place.milliseconds.push(await timeOf(place, options.seconds));
      say(`depth ${round + 1}/${options.rounds}`);
    }
  } finally {
    for (const server of servers) await server.stop();
  }
  return tableOf(places);
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
  return STATUSES.flatMap((status) =>
    DEPTHS.map((depth) => {
      const file = join(world.folder, `depth-${size}-${status}-${depth}.txt`);
      const after = depth === 0 ? undefined : Math.floor(size * depth);
      writeRequests(file, [{ method: 'GET', path: serviceList({ limit: PAGE, status, after }), key }]);
      return { size, status, depth, server, file, milliseconds: [] };
    }),
  );
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
    headings: ['animals', 'status', 'depth', 'ms', '÷ depth 0', `÷ ${SIZES[0]} animals`],
    rows: places.map((place) => {
      const { size, status, depth, milliseconds } = place;
      return [
        String(size),
        status ?? 'any',
        `${depth * 100} %`,
        medianOf(milliseconds).toFixed(3),
        ratio(place, find({ size, status, depth: 0 })),
        ratio(
          place,
          places.find((other) => other.status === status && other.depth === depth),
        ),
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
