import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePort } from './free-port';
import { describeWhen } from './it-when';
import { until } from './until';

/** Enough for each application and store of a spec file to have one of its own. */
const DATABASES = 1_024;

const HINT = 'redis-server is not installed (Debian and Ubuntu: apt-get install redis-server)';

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** What a failing spec did not come to stop would keep jest from ending. */
const living = new Set<ChildProcess>();
afterAll(() => {
  for (const child of living) child.kill('SIGKILL');
});

/** A real redis-server on a free port, which keeps nothing on disk. */
export interface RedisServer {
  readonly port: number;
  /** The URL of a database that nobody else has got. */
  url(): string;
  /** Runs one command outside the service. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
  /** How often a command ran, as Redis counts. */
  calls(name: string): Promise<number>;
  /** It keeps its connections and answers nobody. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL: all that it held is gone. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `describe` with a real Redis; without one its specs count as skipped (with CI=true they fail). */
export function describeWithRedis(name: string, specs: () => void): void {
  if (!hasRedis && process.env['CI'] === 'true') it(name, () => Promise.reject(new Error(HINT)));
  else describeWhen(hasRedis, HINT)(name, specs);
}

/** @param settings further arguments of redis-server */
export async function startRedis(...settings: string[]): Promise<RedisServer> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const start = () => spawnRedis([...args, '--databases', String(DATABASES), ...settings]);
  let child = await start();
  let databases = 0;
  const command = async (name: string, ...rest: (string | number)[]) => {
    const client = new Redis(port, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined);
    try {
      return await client.call(name, ...rest);
    } finally {
      client.disconnect();
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
    calls: async (name) => {
      const text = String(await command('INFO', 'commandstats'));
      return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill: end,
    start: async () => {
      child = await start();
    },
    stop: end,
  };
}

export async function spawnRedis(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  living.add(child);
  child.once('close', () => living.delete(child));
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await until(
    () => /Ready to accept connections|\+monitor|Sentinel ID/.test(output) || child.exitCode !== null,
  );
  if (child.exitCode !== null) throw new Error(`redis-server did not start: ${output}`);
  return child;
}
