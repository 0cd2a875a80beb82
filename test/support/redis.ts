import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from './free-port';
import { describeWhen } from './it-when';
import { until } from './until';

/** Enough databases for each application and store of a spec file. */
const DATABASES = 1_024;

const HINT = 'redis-server is not installed (Debian and Ubuntu: apt-get install redis-server)';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Servers that a failing spec did not stop; jest would wait for them. */
const living = new Set<ChildProcess>();
afterAll(() => {
  for (const child of living) child.kill('SIGKILL');
});

/** A real redis-server on a free port, without persistence. */
export interface RedisServer {
  readonly port: number;
  /** Returns the URL of a database that no other caller has. */
  url(): string;
  /** Runs one command outside the service. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
  /** SIGSTOP: Redis keeps its connections and responds to no command. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL: Redis loses its data. */
  kill(): Promise<void>;
  /** Starts Redis after `kill`, on the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Declares specs that need Redis. If it is not installed they are skipped, or fail with `CI=true`. */
export function describeWithRedis(name: string, specs: () => void): void {
  if (!hasRedis && process.env['CI'] === 'true') it(name, () => Promise.reject(new Error(HINT)));
  else describeWhen(hasRedis, HINT)(name, specs);
}

/** @param settings further arguments of redis-server */
export async function startRedis(...settings: string[]): Promise<RedisServer> {
  // Before an application starts: the library takes seconds in jest, and the application would miss its timeouts.
  const { createClient } = await import('@redis/client');
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const start = () => spawnRedis([...args, '--databases', String(DATABASES), ...settings]);
  let child = await start();
  let databases = 0;
  // `createClient` takes 0.04 s to build a class; `duplicate` uses the class again.
  const unconnected = createClient({ RESP: 2, socket: { port, reconnectStrategy: false } });
  const command = async (name: string, ...rest: (string | number)[]): Promise<unknown> => {
    const client = unconnected.duplicate();
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await client.sendCommand([name, ...rest.map(String)]);
    } finally {
      client.destroy();
    }
  };
  const end = async () => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    url: () => `redis://127.0.0.1:${port}/${databases++ % DATABASES}`,
    command,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill: end,
    start: async () => {
      child = await start();
    },
    stop: end,
  };
}

async function spawnRedis(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  living.add(child);
  child.once('close', () => living.delete(child));
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until(() => /Ready to accept connections/.test(output) || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`redis-server did not start: ${output}`);
  return child;
}
