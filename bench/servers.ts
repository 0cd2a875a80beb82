import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { V8_FLAGS, YOUNG_GENERATION } from '../src/app/v8-flags';
import { freePort } from '../test/support/free-port';
import { handwrittenList, type ListAddress, serviceList, textbookList } from './loads';

const ROOT = join(__dirname, '..');
const MAX_START_MS = 60_000;
const TYPESCRIPT = ['-r', join(ROOT, 'test', 'support', 'typescript.cjs')];
const HANDWRITTEN = [...V8_FLAGS, ...TYPESCRIPT, join(__dirname, 'handwritten.ts')];

/** The arguments of Node.js and the addresses of pages, in the order of the tables. The service sets V8_FLAGS itself. */
export const SERVERS = {
  service: { args: [join(ROOT, 'dist', 'main.js')], list: serviceList },
  handwritten: { args: HANDWRITTEN, list: handwrittenList },
  'handwritten-pipelined': { args: [...HANDWRITTEN, 'pipelined'], list: handwrittenList },
  textbook: { args: [...V8_FLAGS, ...TYPESCRIPT, join(__dirname, 'textbook.ts')], list: textbookList },
  /** An earlier build of the service in `dist-previous`, on a database of its own, to measure the effect of a change. */
  previous: { args: [join(ROOT, 'dist-previous', 'main.js')], list: serviceList },
} as const satisfies Readonly<Record<string, { args: readonly string[]; list: ListAddress }>>;

export type ServerName = keyof typeof SERVERS;
export const SERVER_NAMES = Object.keys(SERVERS) as ServerName[];

/** The processes to kill when this process ends, also by Ctrl-C. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** A measured server in its own process, on a port of 127.0.0.1. */
export interface Server {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts a server and waits until it listens. Its log goes to /dev/null.
 *
 * @throws Error if it ends, or does not listen within a minute
 */
export async function startServer(
  name: ServerName,
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<Server> {
  const port = await freePort();
  const child = spawn(process.execPath, [YOUNG_GENERATION, ...nodeOptions, ...SERVERS[name].args], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_ENV: 'production',
      RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000000',
      // The baselines have no bans. A banned request is cheaper than a limited one.
      RATE_LIMIT_BAN_AFTER: '0',
      PORT: String(port),
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  living.add(child);
  const ended = once(child, 'exit').finally(() => living.delete(child));
  const deadline = performance.now() + MAX_START_MS;
  while (!(await responds(port))) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${name} did not start`);
    await sleep(5);
  }
  return {
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Returns true after any response. */
const responds = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/`).then(
    (response) => response.arrayBuffer().then(() => true),
    () => false,
  );
