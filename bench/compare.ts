import { type Observation, runLoad } from './load-generator';
import { type Load, type LoadName, loads, type Store } from './loads';
import type { Options } from './options';
import { cpuSeconds, memoryMiB } from './process-facts';
import { type Server, type ServerName, SERVERS, startServer } from './servers';
import { type Build, createKey, createWorld, seedPets, tidyUp, UNLIMITED, type World } from './world';

/** Long enough to compile the code that runs often. */
const WARM_UP_SECONDS = 2;

/** The figures of one run of one load against one server, with seconds of processor time per 1,000 requests. */
export interface Measurement extends Observation {
  readonly serverCpu: number;
  readonly postgresCpu: number;
}

/** The runs of a load that are close enough in time to be compared: one for each server. */
export type Round = Partial<Record<ServerName, Measurement>>;

export interface Comparison {
  readonly loads: readonly { readonly load: LoadName; readonly rounds: readonly Round[] }[];
  /** Highest resident memory of each server, in MiB. */
  readonly memory: Partial<Record<ServerName, number>>;
}

/** A server under measurement. */
interface Measured extends Server {
  readonly store: Store;
}

interface Bench {
  readonly world: World;
  readonly running: ReadonlyMap<ServerName, Measured>;
  readonly options: Options;
  readonly say: (line: string) => void;
}

/** Measures the servers alternately in short rounds: the speed of a machine drifts, so only close runs are comparable. */
export async function compare(options: Options, say: (line: string) => void): Promise<Comparison> {
  const world = await createWorld();
  const running = new Map<ServerName, Measured>();
  try {
    const databases = new Map<Build, Filled>();
    const { profile } = options;
    const nodeOptions = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
    for (const name of options.servers) {
      const build = name === 'previous' ? 'dist-previous' : 'dist';
      const { url, store } = databases.get(build) ?? (await fill(world, build, options.pets, say));
      databases.set(build, { url, store });
      const server = await startServer(name, { DATABASE_URL: url }, nodeOptions);
      running.set(name, { ...server, store });
      // The only request that the exhausted account may send.
      const headers = { authorization: `Bearer ${store.exhaustedKey}` };
      await (await fetch(`http://127.0.0.1:${server.port}/v1/pets`, { headers })).arrayBuffer();
    }
    const results: { load: LoadName; rounds: Round[] }[] = [];
    for (const name of options.only) {
      for (const { url } of databases.values()) await tidyUp(url);
      results.push({
        load: name,
        rounds: await measureRounds(loads[name], { world, running, options, say }),
      });
    }
    const memory: Comparison['memory'] = {};
    for (const [name, { pid }] of running) memory[name] = memoryMiB(pid).highest;
    return { loads: results, memory };
  } finally {
    for (const server of running.values()) await server.stop();
    await world.stop();
  }
}

/** A database with animals and keys. */
interface Filled {
  readonly url: string;
  readonly store: Store;
}

async function fill(world: World, build: Build, pets: number, say: (line: string) => void): Promise<Filled> {
  const url = build === 'dist' ? world.url : await world.createDatabase('previous');
  say(await seedPets(url, pets, build));
  const key = await createKey(url, 'bench', UNLIMITED, build);
  return { url, store: { pets, key, exhaustedKey: await createKey(url, 'exhausted', 1, build) } };
}

async function measureRounds(load: Load, bench: Bench): Promise<Round[]> {
  const { options, running, say } = bench;
  for (const server of running.keys()) await measure(load, server, WARM_UP_SECONDS, bench);
  const names = [...running.keys()];
  const rounds: Round[] = [];
  for (let at = 0; at < options.rounds; at += 1) {
    const round: Round = {};
    // Each server is first equally often.
    const turn = at % names.length;
    for (const server of [...names.slice(turn), ...names.slice(0, turn)]) {
      round[server] = await measure(load, server, options.seconds, bench);
    }
    rounds.push(round);
    const figures = names.map((server) => `${server} ${round[server]!.perSecond.toFixed(0)}/s`);
    say(`${load.title} ${at + 1}/${options.rounds}: ${figures.join(', ')}`);
  }
  return rounds;
}

async function measure(
  load: Load,
  server: ServerName,
  seconds: number,
  { running, options: { connections }, world: { postmaster } }: Bench,
): Promise<Measurement> {
  const { pid, port, store } = running.get(server)!;
  const requests = load.requests(store, SERVERS[server].list);
  const before = [cpuSeconds(pid), cpuSeconds(postmaster)] as const;
  const seen = await runLoad({
    port,
    requests,
    connections,
    seconds,
    expectErrors: load.isRejected ?? false,
  });
  const thousands = seen.requests / 1_000;
  return {
    ...seen,
    serverCpu: (cpuSeconds(pid) - before[0]) / thousands,
    postgresCpu: (cpuSeconds(postmaster) - before[1]) / thousands,
  };
}
