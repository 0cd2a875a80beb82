import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { ServerUser } from './server-user';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly user: ServerUser | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  readonly limitSeconds: number;
  /** What it reads from its standard input; by default nothing. */
  readonly input?: string;
}

export interface Outcome {
  readonly ok: boolean;
  /** What the command printed (its last 16,000 characters), or why it could not be started or was ended. */
  readonly output: string;
}

const OUTPUT_LIMIT = 16_000;

/** All that a child sees of an environment: a PGDATA or LC_ALL of the person's shell must not reach the server. */
export const childEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } as const;

/** Runs a command to its end, at the latest to its time limit. Never rejects. */
export function run(command: Command): Promise<Outcome> {
  return new Promise((resolve) => {
    try {
      follow(startCommand(command), command.limitSeconds, resolve);
    } catch (error) {
      // What spawn() itself throws: no right to become that user, too many open files.
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
  // A command that ends before it has read its input says so by its status.
  child.stdin.on('error', () => {});
  child.stdin.end(command.input ?? '');
  return child;
}

function follow(
  child: ChildProcessWithoutNullStreams,
  limitSeconds: number,
  done: (outcome: Outcome) => void,
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
    // Nothing else says why.
    if (signal !== null && output === '') output = `ended by ${signal}`;
    end(code === 0);
  });
}

/** The identity and the place that a child starts in: as root another user, and a folder that everybody can enter. */
export function spawnAs(user: ServerUser | undefined): {
  cwd: string;
  detached: true;
  uid?: number;
  gid?: number;
} {
  // A session of its own: Ctrl-C in the terminal reaches only us, and the time limit can end the whole group.
  const place = { cwd: '/', detached: true } as const;
  return user === undefined ? place : { ...place, uid: user.uid, gid: user.gid };
}

/** The last line that was printed: what PostgreSQL's programs say when they give up. */
export function lastLine(output: string): string {
  return output.trim().split('\n').at(-1)?.trim().replace(/\.$/, '') ?? '';
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself in this moment.
  }
}
