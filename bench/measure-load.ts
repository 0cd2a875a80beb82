import { join } from 'node:path';
import { type Load, type LoadName, loads, type Store } from './loads';
import type { Options } from './options';
import { cpuSeconds } from './process-facts';
import { SERVERS, type Server, type ServerName } from './servers';
import { medianOf } from './statistics';
import type { World } from './world';
import { type Observation, runLoad, writeRequests } from './load-generator';

/** Long enough to compile the code that runs often. */
const WARM_UP_SECONDS = 2;
const HALF = 0.5;

/** The figures of one run of one load against one server. */
export interface Measurement extends Observation {
  /** Seconds of processor time per 1,000 requests. */
  readonly serverCpu: number;
  readonly postgresCpu: number;
}

/** The runs of a load that are close enough in time to be compared: one per server. */
export type Round = Partial<Readonly<Record<ServerName, Measurement>>>;

/** The measurements of a load. */
export interface LoadResult {
  readonly load: LoadName;
  readonly rounds: readonly Round[];
  /** The rounds at half the rate of the slowest server. */
  readonly atRate?: readonly Round[];
}

/** The servers under measurement, and their database. */
export interface Bench {
  readonly world: World;
  readonly running: ReadonlyMap<ServerName, Server>;
  readonly store: Store;
  readonly options: Options;
  readonly say: (line: string) => void;
}

type RunOnce = (server: ServerName, seconds: number) => Promise<Measurement>;

/** Measures a load at saturation and, with `--rate`, at half the rate of the slowest server. */
export async function measureLoad(name: LoadName, bench: Bench): Promise<LoadResult> {
  const { options, running } = bench;
  const load: Load = loads[name];
  const files = await writeFiles(name, bench);
  const run = async (server: ServerName, seconds: number, rate?: number): Promise<Measurement> => {
    const { pid, url } = running.get(server)!;
    const { postmaster } = bench.world;
    const [serverBefore, postgresBefore] = [cpuSeconds(pid), cpuSeconds(postmaster)];
    const expectErrors = load.status >= 400;
    const { connections } = options;
    const seen = await runLoad({ url, file: files.get(server)!, connections, seconds, rate, expectErrors });
    const thousands = seen.requests / 1_000;
    return {
      ...seen,
      serverCpu: (cpuSeconds(pid) - serverBefore) / thousands,
      postgresCpu: (cpuSeconds(postmaster) - postgresBefore) / thousands,
    };
  };
  for (const server of running.keys()) await run(server, WARM_UP_SECONDS);
  const rounds = await measureRounds(load.title, bench, run);
  if (!options.rate) return { load: name, rounds };
  const rate = Math.round(HALF * slowestRate(rounds, [...running.keys()]));
  const title = `${load.title}, ${rate} requests/s`;
  const atRate = await measureRounds(title, bench, (server, seconds) => run(server, seconds, rate));
  return { load: name, rounds, atRate };
}

/** Writes the requests of each server to a file, and checks that the first one gets the expected response. */
async function writeFiles(
  name: LoadName,
  { world, running, store }: Bench,
): Promise<ReadonlyMap<ServerName, string>> {
  const load: Load = loads[name];
  const files = new Map<ServerName, string>();
  for (const [server, { url }] of running) {
    const file = join(world.folder, `${name}-${server}.txt`);
    const requests = load.requests(store, SERVERS[server].list);
    writeRequests(file, requests);
    files.set(server, file);
    await requireStatus(load, url, requests[0]);
  }
  return files;
}

async function measureRounds(title: string, bench: Bench, run: RunOnce): Promise<Round[]> {
  const { running, options, say } = bench;
  const names = [...running.keys()];
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const measured: Partial<Record<ServerName, Measurement>> = {};
    // Each server is first equally often.
    const turn = round % names.length;
    for (const server of [...names.slice(turn), ...names.slice(0, turn)]) {
      measured[server] = await run(server, options.seconds);
    }
    rounds.push(measured);
    const figures = names.map((server) => `${server} ${figureOf(measured[server]!)}`);
    say(`${title} ${round + 1}/${options.rounds}: ${figures.join(', ')}`);
  }
  return rounds;
}

function figureOf({ perSecond, p99Ms }: Measurement): string {
  return `${perSecond.toFixed(0)}/s p99 ${p99Ms.toFixed(1)} ms`;
}

function slowestRate(rounds: readonly Round[], servers: readonly ServerName[]): number {
  return Math.min(
    ...servers.map((server) => medianOf(rounds.map((round) => round[server]?.perSecond ?? Infinity))),
  );
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
