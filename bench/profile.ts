import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rounded } from './figures';
import { loads } from './loads';
import type { Measure } from './options';
import { startServer } from './servers';
import { fill } from './world';

const SHOWN_FILES = 12;
const IDLE = '(idle)';

interface Code {
  readonly functionName: string;
  /** The address of the file. */
  readonly url: string;
}

/** The parts of a CPU profile of V8 that are read. Times are microseconds of the monotonic clock. */
interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Code }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Groups of functions by the address of their file. The first match counts. */
const GROUPS: readonly (readonly [group: string, address: RegExp])[] = [
  ['system calls, native code', /^$/],
  ['Node.js', /^node:/],
  ['Nest', /node_modules\/@nestjs\//],
  ['Fastify', /node_modules\/(fastify|@fastify|find-my-way|avvio|light-my-request|fast-[\w-]+)\//],
  ['pg', /node_modules\/pg[\w-]*\//],
  ['other packages', /node_modules\//],
];

/** Measures the processor time of the service during each load: its own by file, that of others by group. */
export const measureProfile: Measure = async ({ url }, options, say) => {
  const { connections, only, pets, seconds } = options;
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-profile-'));
  const profiling = ['--cpu-prof', '--cpu-prof-dir', folder];
  const server = await startServer('service', await fill(url, pets), {}, profiling);
  const runs: { title: string; requests: number; from: number; to: number }[] = [];
  for (const load of only.map((name) => loads[name])) {
    await server.run(load, { connections });
    const from = now();
    const { perSecond, requests } = await server.run(load, options);
    runs.push({ title: load.title, requests, from, to: now() });
    say(`${load.title}: ${perSecond.toFixed(0)}/s`);
  }
  await server.stop();
  say(`The profile is in ${folder}.`);
  const [file = ''] = readdirSync(folder);
  const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile;
  const rows = runs.flatMap(({ title, requests, from, to }) => {
    const times = [...timesOf(profile, from, to)].toSorted(([, one], [, other]) => other - one);
    const busy = times.reduce((sum, [, time]) => sum + time, 0);
    const files = times.filter(([group]) => group.startsWith('src/'));
    const hidden = new Set(files.slice(SHOWN_FILES));
    return times
      .filter((each) => !hidden.has(each))
      .map(([code, time]) => ({
        load: title,
        code,
        'µs/request': rounded(time / requests),
        share: rounded(time / busy, 3),
      }));
  });
  const title = `Time of the main thread, ${connections} connections, ${seconds} s`;
  return { table: { title, rows } };
};

const now = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Sums the time of each group between two moments. */
function timesOf({ nodes, startTime, samples, timeDeltas }: Profile, from: number, to: number) {
  const groups = new Map(nodes.map(({ id, callFrame }) => [id, groupOf(callFrame)]));
  const times = new Map<string, number>();
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    at += delta;
    const group = groups.get(id) ?? IDLE;
    if (at >= from && at < to && group !== IDLE) times.set(group, (times.get(group) ?? 0) + delta);
  }
  return times;
}

function groupOf({ functionName, url }: Code): string {
  if (functionName === IDLE) return IDLE;
  if (functionName === '(garbage collector)') return 'garbage collection';
  const [group] = GROUPS.find(([, address]) => address.test(url)) ?? [];
  return group ?? url.replace(/^.*\/dist\/(.*)\.js$/, 'src/$1.ts');
}
