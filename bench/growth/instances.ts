import { join } from 'node:path';
import { type LoadName, loads } from '../loads';
import type { Options } from '../options';
import { cpuSeconds } from '../process-facts';
import { hasRedis, type Redis, startRedis } from '../redis';
import { serviceList } from '../requests';
import { type Server, startServer } from '../servers';
import { medianOf } from '../statistics';
import type { Table } from '../table';
import { createKey, seedPets, UNLIMITED, type World } from '../world';
import { runLoad, writeRequests } from '../load-generator';
import type { Say } from './growth';

const PETS = 100_000;
const LOADS = ['mixed', 'create'] as const satisfies readonly LoadName[];
const COUNTS = [1, 2, 4];
const MOST = Math.max(...COUNTS);
/** For each instance: enough to compile the code that runs often. */
const WARM_UP_REQUESTS = 20_000;

/** Instances that get the requests of a load together. */
interface Fleet {
  readonly title: string;
  readonly servers: readonly Server[];
  readonly redis: Redis | undefined;
}

/** Seconds of processor time per 1,000 requests, and the requests per second. */
interface Seen {
  readonly perSecond: number;
  readonly instances: number;
  readonly postgres: number;
  readonly redis: number;
}

/**
 * Measures several instances behind one PostgreSQL. With Redis they share the limits. The processor time of a request
 * shows what a further instance costs, also on a machine that has too few processors for all of them.
 */
export async function measureInstances(world: World, options: Options, say: Say): Promise<Table> {
  await world.createDatabase('instances');
  const url = world.urlOf('instances');
  say(await seedPets(url, PETS));
  const key = await createKey(url, 'bench', UNLIMITED, UNLIMITED);
  const alone = [await startServer('service', { DATABASE_URL: url })];
  const shared: Server[] = [];
  const redis = hasRedis ? await startRedis() : undefined;
  try {
    if (!redis) say('redis-server is not installed: the instances share no limits.');
    const environment = { DATABASE_URL: url, ...(redis && { REDIS_URL: redis.url }) };
    for (let at = 0; at < MOST; at += 1) shared.push(await startServer('service', environment));
    const suffix = redis ? ', Redis' : '';
    const fleets: Fleet[] = [
      ...(redis ? [{ title: '1', servers: alone, redis: undefined }] : []),
      ...COUNTS.map((count) => ({ title: `${count}${suffix}`, servers: shared.slice(0, count), redis })),
    ];
    const rows: string[][] = [];
    for (const name of LOADS) {
      const file = join(world.folder, `instances-${name}.txt`);
      writeRequests(file, loads[name].requests({ pets: PETS, key, exhaustedKey: '' }, serviceList));
      for (const server of [...alone, ...shared]) await warmUp(server, file, options);
      rows.push(...(await measureFleets(name, fleets, file, world, options, say)));
    }
    return tableOf(rows, options);
  } finally {
    for (const server of [...alone, ...shared]) await server.stop();
    await redis?.stop();
  }
}

async function warmUp({ url }: Server, file: string, { connections }: Options): Promise<void> {
  let sent = 0;
  while (sent < WARM_UP_REQUESTS)
    sent += (await runLoad({ url, file, connections, seconds: 1, expectErrors: false })).requests;
}

/** Measures the fleets alternately. @returns a row for each */
async function measureFleets(
  name: LoadName,
  fleets: readonly Fleet[],
  file: string,
  world: World,
  { connections, rounds, seconds }: Options,
  say: Say,
): Promise<string[][]> {
  const seen = fleets.map((): Seen[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, fleet] of fleets.entries()) {
      seen[at]?.push(await runFleet(fleet, file, world, connections, seconds));
    }
    say(`${loads[name].title}, instances ${round + 1}/${rounds}`);
  }
  const first = seen[0] ?? [];
  return fleets.map(({ title }, at) => rowOf(loads[name].title, title, seen[at] ?? [], first));
}

/** Sends the same requests to every instance, each over as many connections. */
async function runFleet(
  { servers, redis }: Fleet,
  file: string,
  { postmaster }: World,
  connections: number,
  seconds: number,
): Promise<Seen> {
  const measureCpu = () => ({
    instances: servers.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    postgres: cpuSeconds(postmaster),
    redis: redis ? cpuSeconds(redis.pid) : 0,
  });
  const before = measureCpu();
  const runs = await Promise.all(
    servers.map(({ url }) => runLoad({ url, file, connections, seconds, expectErrors: false })),
  );
  const after = measureCpu();
  const thousands = runs.reduce((sum, { requests }) => sum + requests, 0) / 1_000;
  return {
    perSecond: runs.reduce((sum, { perSecond }) => sum + perSecond, 0),
    instances: (after.instances - before.instances) / thousands,
    postgres: (after.postgres - before.postgres) / thousands,
    redis: (after.redis - before.redis) / thousands,
  };
}

function rowOf(load: string, fleet: string, seen: readonly Seen[], first: readonly Seen[]): string[] {
  const median = (of: (each: Seen) => number): number => medianOf(seen.map(of));
  const sum = ({ instances, postgres, redis }: Seen): number => instances + postgres + redis;
  const ratios = seen.map((each, round) => sum(each) / sum(first[round] ?? each));
  return [
    load,
    fleet,
    median(({ perSecond }) => perSecond).toFixed(0),
    median(({ instances }) => instances).toFixed(3),
    median(({ postgres }) => postgres).toFixed(3),
    median(({ redis }) => redis).toFixed(3),
    medianOf(ratios).toFixed(2),
  ];
}

function tableOf(rows: readonly (readonly string[])[], { connections }: Options): Table {
  return {
    title: `Instances behind one PostgreSQL, ${connections} connections to each, ${PETS} animals: CPU seconds per 1,000 requests`,
    headings: [
      'load',
      'instances',
      'requests/s',
      'instances CPU s/1000',
      'PostgreSQL CPU s/1000',
      'Redis CPU s/1000',
      'sum ÷ 1 instance',
    ],
    rows,
  };
}
