import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries';
import { run } from './command';
import { EmbeddedServerError } from './errors';
import { readPostmasterFile } from './postmaster-file';
import { processFacts, type ProcessFacts } from './process-facts';
import { FAST_STOP_LIMIT_SECONDS } from './server-process';
import type { ServerUser } from './server-user';
import { isListening } from './socket-directory';

const IMMEDIATE_STOP_LIMIT_SECONDS = 10;
const ORPHAN_LIMIT_MS = 10_000;

/** The modes of `pg_ctl stop`, each with its time limit in seconds. */
const STOP_MODES = [
  ['fast', FAST_STOP_LIMIT_SECONDS],
  ['immediate', IMMEDIATE_STOP_LIMIT_SECONDS],
] as const;

/** Maximal difference between the start times in postmaster.pid and of the process: two clocks, whole seconds. */
const CLOCK_TOLERANCE_MS = 2000;

interface Cluster {
  readonly cluster: string;
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
}

/**
 * Handles the postmaster.pid of an earlier run:
 *
 * 1. If its process is a server of this folder, stops that server.
 * 2. If its process is another one that may have written the file, throws.
 * 3. If a server in another container listens on its socket, throws.
 *
 * The file stays: only PostgreSQL, which checks the shared memory named in it, may remove it.
 *
 * @returns the pid in a file whose server has ended; another process may have this pid now
 */
export async function settleLeftovers(target: Cluster): Promise<number | undefined> {
  const file = readPostmasterFile(target.cluster);
  if (file === undefined) return undefined;
  const facts = processFacts(file.pid);
  if (facts !== undefined && isServerOf(facts, target.cluster)) {
    await stopOrphan(target, file.pid);
    return file.pid;
  }
  if (facts?.startedAtMs !== undefined && facts.startedAtMs < file.startedAtMs + CLOCK_TOLERANCE_MS) {
    throw unclear(target.cluster, file.pid, facts.command);
  }
  // A container that shares this folder has its own pids.
  if (await isListeningAfter(ORPHAN_LIMIT_MS, file.socketDirectory)) throw runsElsewhere(target.cluster);
  return file.pid;
}

/** The child processes of a killed server keep its socket open for a moment. */
async function isListeningAfter(limitMs: number, socketDirectory: string): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (await isListening(socketDirectory)) {
    if (Date.now() > deadline) return true;
    await sleep(50);
  }
  return false;
}

function isServerOf(facts: ProcessFacts, cluster: string): boolean {
  return facts.command.includes('postgres') && facts.command.includes(cluster);
}

/** Stops a server whose service has ended. The watchdog may already be stopping it; a second request is harmless. */
async function stopOrphan(target: Cluster, pid: number): Promise<void> {
  const { cluster } = target;
  let output = '';
  for (const [mode, limitSeconds] of STOP_MODES) {
    output = await requestStop(target, mode, limitSeconds);
    const facts = processFacts(pid);
    if (facts === undefined || !isServerOf(facts, cluster)) return;
  }
  throw new EmbeddedServerError(
    `The PostgreSQL of an earlier run (process ${pid}, ${cluster}) does not stop (${output.trim().split('\n').at(-1) ?? ''}): end that process and start again.`,
  );
}

async function requestStop(
  { cluster, binaries, user }: Cluster,
  mode: string,
  limitSeconds: number,
): Promise<string> {
  const { output } = await run({
    file: join(binaries.bin, 'pg_ctl'),
    args: ['stop', '-D', cluster, '-m', mode, '-w', '-t', String(limitSeconds)],
    user,
    environment: binaries.environment,
    limitSeconds: limitSeconds + 10,
  });
  return output;
}

function unclear(cluster: string, pid: number, command: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `The file ${join(cluster, 'postmaster.pid')} names process ${pid} (${command}), which is not this database's server: stop that process, or set DATA_DIR to another folder.`,
  );
}

function runsElsewhere(cluster: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `A PostgreSQL in another container or on another machine uses ${cluster}: stop it, or set DATA_DIR to another folder.`,
  );
}
