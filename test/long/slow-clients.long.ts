import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { itWhen } from '../support/it-when';
import { dataFolder, runBuilt, running, type RunningService } from '../support/service';
import { createKey } from './support/keys';
import { median, runProgram } from './support/programs';

const SOCKETS = 2_000;
/** Rounds after a first one that was too slow; then the median decides. */
const REPEATS = 2;
const BEFORE_MS = 2_000;
/** The defaults of HEADERS_TIMEOUT_MS and REQUEST_TIMEOUT_MS. */
const TIMEOUT_MS = { heads: 5_000, bodies: 10_000 };
const TOLERANCE_MS = 2_000;
const MAX_MEMORY_MIB = 80;
const SAMPLE_INTERVAL_MS = 250;
const KIB_PER_MIB = 1_024;
/** The probe and Node.js need some files too. */
const MAX_FILES = SOCKETS + 100;

jest.setTimeout(300_000);

const openFiles =
  Number(execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()) || Infinity;

describe(`${SOCKETS} clients that send a byte a second`, () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  let service: RunningService;
  let key: string;
  beforeAll(async () => {
    service = await running(runBuilt('main', [], environment));
    key = await createKey(environment);
  });
  afterAll(async () => {
    service.child.kill('SIGTERM');
    await service.ended;
    folder.remove();
  });

  interface Probe {
    readonly p99Ms: number;
    readonly statuses: readonly number[];
  }
  interface Attack {
    readonly longestMs: number;
    readonly count: number;
  }

  async function attack(kind: 'heads' | 'bodies') {
    const before = await runProgram<Probe>('probe', service.url, key, BEFORE_MS);
    const memory = watchMemory(service.child.pid!);
    const [attackers, during] = await Promise.all([
      runProgram<Attack>('slow-clients', service.url, key, SOCKETS, kind),
      runProgram<Probe>('probe', service.url, key, TIMEOUT_MS[kind]),
    ]);
    return { before, attackers, during, grownMib: await memory.stop() };
  }

  itWhen(openFiles >= MAX_FILES, `"ulimit -n" allows ${openFiles} open files, it takes ${MAX_FILES}`)(
    'are disconnected in time, cost little memory, and do not slow an ordinary client',
    async () => {
      // Warm-up: the first requests of a process are slow, and its memory grows with them.
      await runProgram<Probe>('probe', service.url, key, BEFORE_MS);
      for (const kind of ['heads', 'bodies'] as const) {
        const rounds: Awaited<ReturnType<typeof attack>>[] = [];
        rounds.push(await attack(kind));
        const isLate = rounds[0]!.attackers.longestMs >= TIMEOUT_MS[kind] + TOLERANCE_MS;
        for (let repeats = isLate ? REPEATS : 0; repeats > 0; repeats -= 1) rounds.push(await attack(kind));
        const figure = (of: (round: (typeof rounds)[number]) => number) => median(rounds.map(of));
        process.stdout.write(
          `slow clients, ${kind}: the last of ${SOCKETS} closed after ${Math.round(figure(({ attackers }) => attackers.longestMs))} ms` +
            `, memory +${Math.round(figure(({ grownMib }) => grownMib))} MiB` +
            `, p99 of an ordinary client ${figure(({ before }) => before.p99Ms).toFixed(1)} ms before` +
            ` and ${figure(({ during }) => during.p99Ms).toFixed(1)} ms during (${rounds.length} rounds)\n`,
        );
        expect(figure(({ attackers }) => attackers.longestMs)).toBeLessThan(TIMEOUT_MS[kind] + TOLERANCE_MS);
        for (const { attackers, before, during, grownMib } of rounds) {
          expect(attackers.count).toBe(SOCKETS);
          expect(grownMib).toBeLessThan(MAX_MEMORY_MIB);
          expect([before.statuses, during.statuses]).toEqual([[200], [200]]);
        }
      }
    },
  );
});

/** Watches the resident memory of a process. `stop` returns its highest growth in MiB. */
function watchMemory(pid: number): { stop(): Promise<number> } {
  const read = () =>
    Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / KIB_PER_MIB;
  const atFirst = read();
  let most = atFirst;
  const timer = setInterval(() => (most = Math.max(most, read())), SAMPLE_INTERVAL_MS);
  return {
    stop: async () => {
      await sleep(SAMPLE_INTERVAL_MS);
      clearInterval(timer);
      return most - atFirst;
    },
  };
}
