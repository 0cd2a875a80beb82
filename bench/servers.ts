import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { V8_FLAGS } from '../src/platform/runtime/v8-flags';
import { freePort } from '../test/support/free-port';
import { interruption } from './interruption';
import { handwrittenList, type ListAddress, serviceList, textbookList } from './requests';

const ROOT = join(__dirname, '..');
const MAX_START_MS = 60_000;
const TYPESCRIPT = ['-r', join(ROOT, 'test', 'support', 'typescript.cjs')];
/** The option of the start script (package.json); every server gets it. */
const YOUNG_GENERATION = '--max-semi-space-size=32';

const HANDWRITTEN = [...V8_FLAGS, ...TYPESCRIPT, join(__dirname, 'handwritten.ts')];

/** The arguments of Node.js and the addresses of pages for each server. The service sets V8_FLAGS itself. */
export const SERVERS = {
  service: { args: [join(ROOT, 'dist', 'main.js')], list: serviceList },
  handwritten: { args: HANDWRITTEN, list: handwrittenList },
  'handwritten-pipelined': { args: [...HANDWRITTEN, 'pipelined'], list: handwrittenList },
  /** An earlier build of the service in `dist-previous`, to measure the effect of a change. */
  previous: { args: [join(ROOT, 'dist-previous', 'main.js')], list: serviceList },
  /** The service with an SDK, to measure the cost of traces. */
  traced: {
    args: [...TYPESCRIPT, '-r', join(__dirname, 'tracing.ts'), join(ROOT, 'dist', 'main.js')],
    list: serviceList,
  },
  textbook: { args: [...V8_FLAGS, ...TYPESCRIPT, join(__dirname, 'textbook.ts')], list: textbookList },
} as const satisfies Readonly<Record<string, { args: readonly string[]; list: ListAddress }>>;

export type ServerName = keyof typeof SERVERS;
/** In the order of the tables. */
export const SERVER_NAMES = [
  'service',
  'handwritten',
  'handwritten-pipelined',
  'textbook',
  'previous',
  'traced',
] as const satisfies readonly ServerName[];

/** The processes to kill when this process ends. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** A server process that listens on a port of 127.0.0.1. */
export interface Process {
  readonly pid: number;
  readonly port: number;
  /** The time from the start of the process until it accepted a connection. */
  readonly startMs: number;
  stop(): Promise<void>;
}

/** A measured server in its own process. */
export interface Server extends Process {
  readonly url: string;
}

/** Starts a server and waits until it listens. The server writes its log to /dev/null. */
export async function startServer(
  name: ServerName,
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<Server> {
  const args = [YOUNG_GENERATION, ...nodeOptions, ...SERVERS[name].args];
  const started = await startProcess(process.execPath, (port) => ({
    args,
    environment: {
      NODE_ENV: 'production',
      RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000000',
      // The baselines have no bans. A banned request is cheaper than a limited one.
      RATE_LIMIT_BAN_AFTER: '0',
      PORT: String(port),
      ...environment,
    },
  }));
  return { ...started, url: `http://127.0.0.1:${started.port}` };
}

interface Start {
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Starts a process and waits until it listens on the port.
 *
 * @throws Error if it ends, or does not listen within a minute
 */
export async function startProcess(command: string, startOn: (port: number) => Start): Promise<Process> {
  const port = await freePort();
  const { args, environment } = startOn(port);
  const startedAt = performance.now();
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  living.add(child);
  const ended = once(child, 'exit').finally(() => living.delete(child));
  while (!(await isListening(port))) {
    if (child.exitCode !== null || performance.now() - startedAt > MAX_START_MS) {
      throw new Error(`${[command, ...args].join(' ')} did not start`);
    }
    await sleep(5, undefined, { signal: interruption });
  }
  return {
    pid: child.pid ?? 0,
    port,
    startMs: performance.now() - startedAt,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
