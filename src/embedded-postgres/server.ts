import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries';
import { clusterOf } from './cluster';
import { diskFull, EmbeddedServerError } from './errors';
import { settleLeftovers } from './leftovers';
import { separateRoles } from './roles';
import { appendToLog } from './server-log';
import { FAST_STOP_LIMIT_SECONDS, launch, type LaunchResult, type ServerProcess } from './server-process';
import type { ServerUser } from './server-user';
import { PORT } from './socket-directory';

/** The recovery after a crash replays up to 1 GB of log. */
const READY_LIMIT_SECONDS = 180;
/** Time limit for the processes of a killed server to release its files. */
const LEFTOVER_LIMIT_MS = 20_000;
const IMMEDIATE_STOP_LIMIT_MS = 10_000;

export interface ServerPlan {
  readonly directory: string;
  readonly socketDirectory: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  readonly durable: boolean;
  readonly canCreateDatabases: boolean;
  readonly maxConnections: number;
}

/** Starts the server on its initialised files. Retries while processes of an earlier run end. */
export async function startServer(plan: ServerPlan): Promise<ServerProcess> {
  const cluster = clusterOf(plan.directory);
  const deadline = Date.now() + LEFTOVER_LIMIT_MS;
  for (;;) {
    const stalePid = await settleLeftovers({ cluster, binaries: plan.binaries, user: plan.user });
    const environment = { ...plan.binaries.environment, ...ignorePid(stalePid) };
    const result = await startOnce(plan, cluster, environment);
    if ('server' in result) return result.server;
    if (!isLeftover(result.failure) || Date.now() > deadline)
      throw startFailed(plan.directory, result.failure);
    await sleep(50);
  }
}

async function startOnce(
  plan: ServerPlan,
  cluster: string,
  environment: Readonly<Record<string, string>>,
): Promise<LaunchResult> {
  const { binaries, user, canCreateDatabases } = plan;
  const logFile = logOf(plan.directory);
  const failure = await separateRoles({ cluster, binaries, user, environment, canCreateDatabases });
  if (failure !== undefined) {
    appendToLog(logFile, failure);
    return { failure };
  }
  const command = [join(binaries.bin, 'postgres'), ...serverArguments(plan, cluster)];
  return launch({ command, cluster, logFile, user, environment, limitSeconds: READY_LIMIT_SECONDS });
}

/** Requests a fast shutdown and, after its time limit, an immediate one. Resolves when the server has ended. */
export async function stopServer(server: ServerProcess): Promise<void> {
  server.requestStop();
  // The watchdog's reader may have been killed. A second request has no further effect.
  signal(server, 'SIGINT');
  if (await endsWithin(server, FAST_STOP_LIMIT_SECONDS * 1_000)) return;
  signal(server, 'SIGQUIT');
  if (await endsWithin(server, IMMEDIATE_STOP_LIMIT_MS)) return;
  throw new EmbeddedServerError(`PostgreSQL (process ${server.pid}) does not stop: end that process.`);
}

function serverArguments(
  { socketDirectory, durable, maxConnections }: ServerPlan,
  cluster: string,
): string[] {
  const settings = {
    listen_addresses: '',
    // The setting is a list: without quotes, a comma in the path would separate two folders.
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: String(PORT),
    max_connections: String(maxConnections),
    timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/**
 * Makes the server ignore the pid in postmaster.pid. It does not start while a process has this pid, unless the pid is
 * its grandparent's, which pg_ctl sets in this variable. It still checks the shared memory of the earlier server.
 */
function ignorePid(pid: number | undefined): Record<string, string> {
  return pid === undefined ? {} : { PG_GRANDPARENT_PID: String(pid) };
}

function isLeftover(log: string): boolean {
  return /lock file ".*" already exists|pre-existing shared memory block/.test(log);
}

async function endsWithin(server: ServerProcess, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  const abort = new AbortController();
  const timer = sleep(limitMs, undefined, { signal: abort.signal }).catch(() => {});
  await Promise.race([server.ended, timer]);
  abort.abort();
  while (server.isRunning()) {
    if (Date.now() >= deadline) return false;
    await sleep(10);
  }
  return true;
}

function signal(server: ServerProcess, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    if (server.isRunning()) process.kill(server.pid, name);
  } catch {
    // The server has already ended.
  }
}

function logOf(directory: string): string {
  return join(directory, 'postgres.log');
}

function startFailed(directory: string, log: string): EmbeddedServerError {
  if (log.includes('No space left on device')) return new EmbeddedServerError(diskFull(directory));
  const reason = /(?:FATAL|PANIC):\s+(.+)/.exec(log)?.[1] ?? log.trim().split('\n').at(-1) ?? '';
  return new EmbeddedServerError(
    `PostgreSQL did not start (${reason}): read ${logOf(directory)}, or set DATABASE_URL to another server.`,
  );
}
