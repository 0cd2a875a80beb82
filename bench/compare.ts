import { join } from 'node:path';
import { type Load, type LoadName, loads, type Store } from './loads';
import type { Options } from './options';
import { cpuSeconds, memoryMiB } from './process-facts';
import { SERVERS, type Server, type ServerName, startServer } from './servers';
import { createKey, createWorld, seedPets, UNLIMITED, type World } from './world';
import { type Observation, runLoad, writeRequests } from './load-generator';

/** The figures of one run of one load against one server. */
export interface Measurement extends Observation {
  /** Seconds of processor time per 1,000 requests. */
  readonly serverCpu: number;
  readonly postgresCpu: number;
}

/** The measurements of a load: for each round, one per server. */
export interface LoadResult {
  readonly load: LoadName;
  readonly rounds: readonly Partial<Readonly<Record<ServerName, Measurement>>>[];
}

export interface Comparison {
  readonly loads: readonly LoadResult[];
  /** Highest resident memory of each server, in MiB. */
  readonly memory: Partial<Record<ServerName, number>>;
  readonly seeded: string;
}

/** Long enough to compile the code that runs often. */
const WARM_UP_SECONDS = 2;

type Say = (line: string) => void;

/** Measures the servers alternately in short rounds: the speed of a machine drifts, so only close runs are comparable. */
export async function compare(options: Options, say: Say): Promise<Comparison> {
  const world = await createWorld();
  const running = new Map<ServerName, Server>();
  try {
    const url = world.urlOf();
    const seeded = await seedPets(url, options.pets);
    say(seeded);
    await world.query('VACUUM ANALYZE pets');
    const store = await openStore(url, options.pets);
    const nodeOptions = profiling(options);
    for (const name of options.servers) {
      running.set(name, await startServer(name, { DATABASE_URL: url }, nodeOptions));
    }
    await useUp(running, store);
    const results: LoadResult[] = [];
    for (const name of options.only)
      results.push(await measureLoad(name, world, running, store, options, say));
    const memory: Comparison['memory'] = {};
    for (const [name, { pid }] of running) memory[name] = memoryMiB(pid).highest;
    return { loads: results, memory, seeded };
  } finally {
    for (const server of running.values()) await server.stop();
    await world.stop();
  }
}

function profiling({ profile }: Options): string[] {
  return profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
}

async function openStore(url: string, pets: number): Promise<Store> {
  return {
    pets,
    key: await createKey(url, 'bench', UNLIMITED, UNLIMITED),
    exhaustedKey: await createKey(url, 'exhausted', 1, 1),
  };
}

/** Sends the only request that the exhausted account may send. */
async function useUp(running: ReadonlyMap<ServerName, Server>, { exhaustedKey }: Store): Promise<void> {
  for (const { url } of running.values()) {
    const response = await fetch(`${url}/v1/pets`, { headers: { authorization: `Bearer ${exhaustedKey}` } });
    await response.arrayBuffer();
  }
}

async function measureLoad(
  name: LoadName,
  world: World,
  running: ReadonlyMap<ServerName, Server>,
  store: Store,
  options: Options,
  say: Say,
): Promise<LoadResult> {
  const load: Load = loads[name];
  const files = new Map<ServerName, string>();
  for (const [server, { url }] of running) {
    const file = join(world.folder, `${name}-${server}.txt`);
    const requests = load.requests(store, SERVERS[server].list);
    writeRequests(file, requests);
    files.set(server, file);
    await requireStatus(load, url, requests[0]);
  }
  const run = async (server: ServerName, seconds: number): Promise<Measurement> => {
    const { pid, url } = running.get(server)!;
    const [serverBefore, postgresBefore] = [cpuSeconds(pid), cpuSeconds(world.postmaster)];
    const expectErrors = load.status >= 400;
    const { connections } = options;
    const seen = await runLoad({ url, file: files.get(server)!, connections, seconds, expectErrors });
    const thousands = seen.requests / 1_000;
    return {
      ...seen,
      serverCpu: (cpuSeconds(pid) - serverBefore) / thousands,
      postgresCpu: (cpuSeconds(world.postmaster) - postgresBefore) / thousands,
    };
  };
  const names = [...running.keys()];
  for (const server of names) await run(server, WARM_UP_SECONDS);
  const rounds: Partial<Record<ServerName, Measurement>>[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const measured: Partial<Record<ServerName, Measurement>> = {};
    // Each server is first equally often.
    const turn = round % names.length;
    for (const server of [...names.slice(turn), ...names.slice(0, turn)]) {
      measured[server] = await run(server, options.seconds);
    }
    rounds.push(measured);
    say(
      `${load.title} ${round + 1}/${options.rounds}: ${names.map((server) => perSecond(server, measured)).join(', ')}`,
    );
  }
  return { load: name, rounds };
}

/** Throws if the first request of a load has another status than the load expects. */
async function requireStatus(
  load: Load,
  url: string,
  first: ReturnType<Load['requests']>[number] | undefined,
): Promise<void> {
  if (!first) throw new Error(`the load "${load.title}" has no request`);
  const { method, path, key, body } = first;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (response.status !== load.status) throw new Error(`${url}${path}: ${response.status} ${text}`);
}

function perSecond(server: ServerName, measured: LoadResult['rounds'][number]): string {
  return `${server} ${Math.round(measured[server]?.perSecond ?? 0)}`;
}
