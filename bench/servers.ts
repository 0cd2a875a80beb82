import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { V8_FLAGS, YOUNG_GENERATION } from '../src/app/v8-flags';
import { freePort } from '../test/support/free-port';
import { type Observation, runLoad } from './load-generator';
import { type Load, type LoadName, named, type Store } from './loads';

const ROOT = join(__dirname, '..');
/** Long enough to compile the code that runs often. */
const WARM_UP_SECONDS = 2;
const MAX_START_MS = 60_000;
const inTypeScript = (file: string, ...args: string[]) => [
  ...V8_FLAGS,
  '-r',
  join(ROOT, 'test', 'support', 'typescript.cjs'),
  join(__dirname, file),
  ...args,
];

interface Program {
  /** The arguments of Node.js. The service sets V8_FLAGS itself. */
  readonly args: readonly string[];
  /** The loads that it can serve. Default: all. */
  readonly loads?: readonly LoadName[];
  /** Each gets as many connections as a single process. Default 1. */
  readonly processes?: number;
}

const SERVICE = [join(ROOT, 'dist', 'main.js')];

/** In the order of the tables. */
export const SERVERS = named<Program>()({
  service: { args: SERVICE },
  handwritten: { args: inTypeScript('handwritten.ts') },
  'handwritten-pipelined': { args: inTypeScript('handwritten.ts', 'pipelined') },
  bare: { args: inTypeScript('bare.ts'), loads: ['hot'] },
  workers: { args: SERVICE, processes: 2 },
  /** An earlier build of the service in `dist-previous`, on a database of its own, to measure the effect of a change. */
  previous: { args: [join(ROOT, 'dist-previous', 'main.js')] },
});

export type ServerName = keyof typeof SERVERS;
export const SERVER_NAMES = Object.keys(SERVERS) as ServerName[];

/** The processes to kill when this process ends, also by Ctrl-C. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** A process that listens on a port of 127.0.0.1. */
interface Listening {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** A server under measurement. */
export interface Server extends Listening {
  /** @param connections for each process of the server */
  run(load: Load, options: { readonly connections: number; readonly seconds?: number }): Promise<Observation>;
}

/**
 * Starts a server and waits until it listens. Its log goes to /dev/null.
 *
 * @throws Error if it ends, or does not listen within a minute
 */
export async function startServer(
  name: ServerName,
  store: Store,
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): Promise<Server> {
  const port = await freePort();
  const { args, processes = 1 } = SERVERS[name];
  const listening = await launch(port, process.execPath, [YOUNG_GENERATION, ...nodeOptions, ...args], {
    NODE_ENV: 'production',
    RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000000',
    // The baselines have no bans. A banned request is cheaper than a limited one.
    RATE_LIMIT_BAN_AFTER: '0',
    DATABASE_URL: store.url,
    PORT: String(port),
    WORKERS: String(processes),
    ...environment,
  });
  // The only request that the exhausted account may send.
  const headers = { authorization: `Bearer ${store.exhaustedKey}` };
  await (await fetch(`http://127.0.0.1:${port}/v1/pets`, { headers })).arrayBuffer();
  return {
    ...listening,
    run: (load, { connections, seconds = WARM_UP_SECONDS }) =>
      runLoad({
        port,
        requests: load.requests(store),
        connections: connections * processes,
        seconds,
        expectErrors: load.isRejected ?? false,
      }),
  };
}

/** Starts a redis-server without persistence. */
export async function startRedis(): Promise<Listening> {
  const port = await freePort();
  return launch(port, 'redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''], {});
}

async function launch(port: number, program: string, args: readonly string[], environment: object) {
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  living.add(child);
  const ended = once(child, 'exit').finally(() => living.delete(child));
  const deadline = performance.now() + MAX_START_MS;
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`${program} ${args.join(' ')} did not start`);
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

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
