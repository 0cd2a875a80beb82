import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment, spawnAs } from './command';
import { readPostmasterFile, type PostmasterFile } from './postmaster-file';
import { processFacts } from './process-facts';
import { openLog, readLog } from './server-log';
import type { ServerUser } from './server-user';

const READY_POLL_MS = 5;
/**
 * How long a fast shutdown may take before an immediate one, from which the next start recovers, is asked for. A server
 * that is told to stop while it recovers from a crash may never come to it.
 */
export const FAST_STOP_LIMIT_SECONDS = 30;
/** How long a server that did not become ready may take to end. */
const ABANDON_LIMIT_MS = 30_000;

/**
 * Runs the server below a shell whose standard input is our pipe. When we close it, or end in whatever way, the
 * shell's `read` returns and it asks the server for a fast shutdown. Signals meant for the terminal's or the unit's
 * whole group leave the shell alone; the server sets handlers of its own, and until it has, the request is lost: so
 * it is repeated, and after a while it becomes that for an immediate one. Only the reader holds the pipe.
 */
const WATCHDOG = `trap '' HUP INT TERM
exec 3<&0
"$@" </dev/null 3<&- & server=$!
(read -r line <&3; asked=0
while kill -INT "$server"; do
  sleep 1; asked=$((asked + 1)); [ "$asked" -lt ${FAST_STOP_LIMIT_SECONDS} ] || kill -QUIT "$server"
done) >/dev/null 2>&1 & reader=$!
exec 3<&- </dev/null
wait "$server"; code=$?
exec >/dev/null 2>&1
kill -KILL "$reader"; wait "$reader"
exit "$code"`;

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
  /** Resolves when the shell has ended, after the server unless somebody killed it alone. */
  readonly ended: Promise<void>;
  isRunning(): boolean;
  /** Asks for a fast shutdown. */
  requestStop(): void;
}

interface Shell {
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** Why it could not be started, or nothing. */
  problem(): string;
  closePipe(): void;
}

export type LaunchResult = { readonly server: ServerProcess } | { readonly failure: string };

/** Starts the server and waits until it takes connections; a failure is what it wrote to its log since. */
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
    // By its identity: when it has died, another program may have got the pid.
    isRunning: () => identity !== undefined && processFacts(pid)?.identity === identity,
    requestStop: () => shell.closePipe(),
  };
}

function startShell({ command, user, environment }: Launch, log: number): Shell {
  const shell = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', ...command], {
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
  // It does not keep our event loop alive, and a broken pipe is no error: the server has ended.
  shell.unref();
  shell.stdin?.on('error', () => {});
  const closePipe = (): void => {
    shell.ref();
    shell.stdin?.end();
  };
  return { ended: end, hasEnded: () => ended, problem: () => problem, closePipe };
}

/** The server's pid once its own status says ready; undefined when it has ended or the time is up. */
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

/** The file of the run before us may still lie there, and say that it is ready. */
function isSame(file: PostmasterFile, before: PostmasterFile | undefined): boolean {
  return before?.pid === file.pid && before.startedAtMs === file.startedAtMs;
}
