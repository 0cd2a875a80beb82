import { spawn } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment, spawnAs } from './command';
import { readPostmasterFile, type PostmasterFile } from './postmaster-file';
import { processFacts } from './process-facts';
import { openLog, readLog } from './server-log';
import type { ServerUser } from './server-user';

const READY_POLL_MS = 5;
/**
 * Time limit of a fast shutdown. Then an immediate one is requested, from which the next start recovers: a server that
 * is recovering from a crash may ignore a fast shutdown.
 */
export const FAST_STOP_LIMIT_SECONDS = 30;
/** Time limit for the end of a server that did not become ready. */
const ABANDON_LIMIT_MS = 30_000;

/**
 * The script of the shell that runs the server. It is passed as text, because the server's user may not be able to read
 * the file. Without its comments it is short in the list of processes.
 */
const WATCHDOG = readFileSync(join(__dirname, 'watchdog.sh'), 'utf8').replace(/^\s*(#.*)?\n/gm, '');

export interface Launch {
  /** Absolute path of the program, then its arguments. */
  readonly command: readonly string[];
  readonly cluster: string;
  readonly logFile: string;
  readonly user: ServerUser | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly limitSeconds: number;
}

/** The shell and the server below it. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the shell has ended. The server has then ended too, unless only the shell was killed. */
  readonly ended: Promise<void>;
  isRunning(): boolean;
  /** Requests a fast shutdown. */
  requestStop(): void;
}

interface Shell {
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** The reason why the shell did not start, or an empty string. */
  problem(): string;
  closePipe(): void;
}

export type LaunchResult = { readonly server: ServerProcess } | { readonly failure: string };

/** Starts the server and waits until it accepts connections. A failure is the server's log of this start. */
export async function launch(request: Launch): Promise<LaunchResult> {
  const before = readPostmasterFile(request.cluster);
  const log = openLog(request.logFile);
  let shell: Shell | undefined;
  try {
    shell = startShell(request, log.descriptor);
    const pid = await untilReady(request, shell, before);
    if (pid !== undefined) return { server: serverOf(pid, shell) };
    const problem = shell.hasEnded()
      ? shell.problem()
      : `FATAL:  not ready after ${request.limitSeconds} seconds`;
    shell.closePipe();
    await Promise.race([shell.ended, sleep(ABANDON_LIMIT_MS, undefined, { ref: false })]);
    return { failure: `${problem}\n${readLog(log)}` };
  } catch (error) {
    shell?.closePipe();
    throw error;
  } finally {
    closeSync(log.descriptor);
  }
}

function serverOf(pid: number, shell: Shell): ServerProcess {
  const identity = processFacts(pid)?.identity;
  return {
    pid,
    ended: shell.ended,
    // Compares the identity, because another process may have the pid now.
    isRunning: () => identity !== undefined && processFacts(pid)?.identity === identity,
    requestStop: () => shell.closePipe(),
  };
}

function startShell({ command, user, environment }: Launch, log: number): Shell {
  const shell = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', String(FAST_STOP_LIMIT_SECONDS), ...command], {
    ...spawnAs(user),
    env: { ...childEnvironment, ...environment },
    stdio: ['pipe', log, log],
  });
  let ended = false;
  let problem = '';
  const end = new Promise<void>((resolve) => {
    const finish = (): void => {
      ended = true;
      resolve();
    };
    shell.once('exit', finish);
    shell.on('error', (error) => {
      problem = `FATAL:  ${error.message}`;
      finish();
    });
  });
  // The shell must not keep the event loop alive. A broken pipe means that the server has ended.
  shell.unref();
  shell.stdin?.on('error', () => {});
  const closePipe = (): void => {
    shell.ref();
    shell.stdin?.end();
  };
  return { ended: end, hasEnded: () => ended, problem: () => problem, closePipe };
}

/** Waits for the status `ready`. Returns the server's pid, or undefined after its end or the time limit. */
async function untilReady(
  { cluster, limitSeconds }: Launch,
  shell: Shell,
  before: PostmasterFile | undefined,
): Promise<number | undefined> {
  const deadline = Date.now() + limitSeconds * 1000;
  while (!shell.hasEnded() && Date.now() < deadline) {
    const file = readPostmasterFile(cluster);
    if (file?.ready === true && !isSame(file, before) && processFacts(file.pid) !== undefined)
      return file.pid;
    await Promise.race([shell.ended, sleep(READY_POLL_MS)]);
  }
  return undefined;
}

/** The file of the previous run may still exist with the status `ready`. */
function isSame(file: PostmasterFile, before: PostmasterFile | undefined): boolean {
  return before?.pid === file.pid && before.startedAtMs === file.startedAtMs;
}
