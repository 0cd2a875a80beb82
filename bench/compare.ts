import type { Store } from './loads';
import { type Bench, type LoadResult, measureLoad } from './measure-load';
import type { Options } from './options';
import { memoryMiB } from './process-facts';
import { type Server, type ServerName, startServer } from './servers';
import { createKey, createWorld, seedPets, UNLIMITED } from './world';

export interface Comparison {
  readonly loads: readonly LoadResult[];
  /** Highest resident memory of each server, in MiB. */
  readonly memory: Partial<Record<ServerName, number>>;
  readonly seeded: string;
}

/** Measures the servers alternately in short rounds: the speed of a machine drifts, so only close runs are comparable. */
export async function compare(options: Options, say: (line: string) => void): Promise<Comparison> {
  const world = await createWorld();
  const running = new Map<ServerName, Server>();
  try {
    const url = world.urlOf();
    const seeded = await seedPets(url, options.pets);
    say(seeded);
    const store = await openStore(url, options.pets);
    const nodeOptions = profiling(options);
    for (const name of options.servers) {
      running.set(name, await startServer(name, { DATABASE_URL: url }, nodeOptions));
    }
    await useUp(running, store);
    const bench: Bench = { world, running, store, options, say };
    const results: LoadResult[] = [];
    for (const name of options.only) {
      // Otherwise PostgreSQL would tidy up after one load during the next.
      await world.query('VACUUM ANALYZE pets');
      await world.query('CHECKPOINT');
      results.push(await measureLoad(name, bench));
    }
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
