import type { Observation } from './load-generator';
import { type Load, type LoadName, loads, type Store } from './loads';
import type { Options } from './options';
import { cpuSeconds, memoryMiB } from './process-facts';
import { type Server, type ServerName, SERVERS, startRedis, startServer } from './servers';
import { type Build, fill, tidyUp, type World } from './world';

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

interface Bench {
  readonly world: World;
  readonly running: ReadonlyMap<ServerName, Server>;
  readonly options: Options;
  readonly say: (line: string) => void;
}

/** Measures the servers alternately in short rounds: the speed of a machine drifts, so only close runs are comparable. */
export async function compare(
  world: World,
  options: Options,
  say: (line: string) => void,
): Promise<Comparison> {
  const running = new Map<ServerName, Server>();
  const redis = options.name === 'workers' ? await startRedis() : undefined;
  const settings = redis && { REDIS_URL: `redis://127.0.0.1:${redis.port}` };
  const databases = new Map<Build, Store>();
  for (const name of options.servers) {
    const build = name === 'previous' ? 'dist-previous' : 'dist';
    const store = databases.get(build) ?? (await fill(await urlOf(world, build), options.pets, build));
    databases.set(build, store);
    const page = `http://127.0.0.1:${running.get('service')?.port}/v1/pets`;
    running.set(name, await startServer(name, store, { PAGE: page, KEY: store.key, ...settings }));
  }
  const results: { load: LoadName; rounds: Round[] }[] = [];
  for (const load of options.only) {
    for (const { url } of databases.values()) await tidyUp(url);
    results.push({ load, rounds: await measureRounds(load, { world, running, options, say }) });
  }
  const memory: Comparison['memory'] = {};
  for (const [name, { pid }] of running) memory[name] = memoryMiB(pid).highest;
  for (const server of running.values()) await server.stop();
  await redis?.stop();
  return { loads: results, memory };
}

const urlOf = (world: World, build: Build): string | Promise<string> =>
  build === 'dist' ? world.url : world.createDatabase('previous');

async function measureRounds(name: LoadName, bench: Bench): Promise<Round[]> {
  const { options, running, say } = bench;
  const load = loads[name];
  const names = [...running.keys()].filter((server) => SERVERS[server].loads?.includes(name) ?? true);
  for (const server of names) await running.get(server)?.run(load, { connections: options.connections });
  const rounds: Round[] = [];
  for (let at = 0; at < options.rounds; at += 1) {
    const round: Round = {};
    // Each server is first equally often.
    const turn = at % names.length;
    for (const server of [...names.slice(turn), ...names.slice(0, turn)]) {
      round[server] = await measure(load, running.get(server)!, bench);
    }
    rounds.push(round);
    const figures = names.map((server) => `${server} ${round[server]!.perSecond.toFixed(0)}/s`);
    say(`${load.title} ${at + 1}/${options.rounds}: ${figures.join(', ')}`);
  }
  return rounds;
}

async function measure(load: Load, server: Server, { options, world }: Bench): Promise<Measurement> {
  const secondsOf = () => [cpuSeconds(server.pid), cpuSeconds(world.postmaster)] as const;
  const before = secondsOf();
  const seen = await server.run(load, options);
  const after = secondsOf();
  const thousands = seen.requests / 1_000;
  return {
    ...seen,
    serverCpu: (after[0] - before[0]) / thousands,
    postgresCpu: (after[1] - before[1]) / thousands,
  };
}
