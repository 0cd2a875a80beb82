import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { ServerUser } from './server-user';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly user: ServerUser | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  readonly limitSeconds: number;
  /** The content of its standard input. Default: empty. */
  readonly input?: string;
}

export interface CommandResult {
  readonly ok: boolean;
  /** The last 16,000 characters of its output, or the reason why it did not start or was killed. */
  readonly output: string;
}

const OUTPUT_LIMIT = 16_000;

/** The environment of every child. Variables of the user's shell, such as PGDATA and LC_ALL, must not reach the server. */
export const childEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } as const;

/** Runs a command until it ends or reaches its time limit. Never rejects. */
export function run(command: Command): Promise<CommandResult> {
  return new Promise((resolve) => {
    try {
      waitForEnd(startCommand(command), command.limitSeconds, resolve);
    } catch (error) {
      // spawn() throws if this process may not become that user, or has too many open files.
      resolve({ ok: false, output: String(error) });
    }
  });
}

function startCommand(command: Command): ChildProcessWithoutNullStreams {
  const child = spawn(command.file, command.args, {
    ...spawnAs(command.user),
    env: { ...childEnvironment, ...command.environment },
    stdio: 'pipe',
  });
  // A command may end before it has read its input. Its exit status shows the failure.
  child.stdin.on('error', () => {});
  child.stdin.end(command.input ?? '');
  return child;
}

function waitForEnd(
  child: ChildProcessWithoutNullStreams,
  limitSeconds: number,
  done: (outcome: CommandResult) => void,
): void {
  let output = '';
  const collect = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-OUTPUT_LIMIT));
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const timer = setTimeout(() => {
    output += `\nended after ${limitSeconds} seconds`;
    killGroup(child.pid);
  }, limitSeconds * 1000);
  const end = (ok: boolean): void => {
    clearTimeout(timer);
    done({ ok, output });
  };
  child.once('error', (error) => {
    output += error.message;
    end(false);
  });
  child.once('close', (code, signal) => {
    // Without output, the signal is the only reason.
    if (signal !== null && output === '') output = `ended by ${signal}`;
    end(code === 0);
  });
}

/** Returns the user, working directory and session of a child. Every user can enter `/`. */
export function spawnAs(user: ServerUser | undefined): {
  cwd: string;
  detached: true;
  uid?: number;
  gid?: number;
} {
  // In a session of its own the child gets no Ctrl-C of the terminal, and the time limit can kill its whole group.
  const place = { cwd: '/', detached: true } as const;
  return user === undefined ? place : { ...place, uid: user.uid, gid: user.gid };
}

/** Returns the last line of an output, in which PostgreSQL's programs state why they failed. */
export function lastLine(output: string): string {
  return output.trim().split('\n').at(-1)?.trim().replace(/\.$/, '') ?? '';
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}
