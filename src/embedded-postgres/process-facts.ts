import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { childEnvironment } from './command';

export interface ProcessFacts {
  /** Identifies one process together with its pid, also after a reuse of the pid; undefined if the system hides it. */
  readonly identity: string | undefined;
  readonly startedAtMs: number | undefined;
  /** The command line, its words separated by spaces. */
  readonly command: string;
}

/** Linux counts process starts in 1/100 s since boot on every architecture that Node runs on. */
const TICK_MS = 10;

/** Reads the facts of a running process; undefined if it has ended or is a zombie. */
export function processFacts(pid: number): ProcessFacts | undefined {
  if (!exists(pid)) return undefined;
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid);
}

function exists(pid: number): boolean {
  // 0 and negative numbers mean process groups to kill(2).
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Object && 'code' in error && error.code === 'EPERM';
  }
}

const hidden: ProcessFacts = { identity: undefined, startedAtMs: undefined, command: '' };

function fromProc(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses. The name may contain spaces and parentheses.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    const ticks = Number(rest[18]);
    return {
      // Ticks count from the boot. Without the boot's id, a process of the next boot could have the same identity.
      identity: `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${ticks}`,
      startedAtMs: bootedAtMs() + ticks * TICK_MS,
      command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
    };
  } catch {
    // The process has ended, or /proc is mounted with hidepid.
    return exists(pid) ? hidden : undefined;
  }
}

function bootedAtMs(): number {
  return Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]) * 1000;
}

/** Reads the facts from `ps`, for macOS. Untested: no test runs on macOS. */
function fromPs(pid: number): ProcessFacts | undefined {
  const args = ['-p', String(pid), '-o', 'state=', '-o', 'lstart=', '-o', 'command='];
  const ps = spawnSync('/bin/ps', args, { encoding: 'utf8', env: childEnvironment, timeout: 5000 });
  // S+  Mon Nov 17 06:45:00 2025     /usr/bin/node dist/main.js
  const match = /^(\S+)\s+(\w{3} \w{3} +\d+ [\d:]{8} \d{4})\s+(.*)$/.exec(ps.stdout?.trim() ?? '');
  if (match === null) return exists(pid) ? hidden : undefined;
  const [, state = '', started = '', command = ''] = match;
  if (state.startsWith('Z')) return undefined;
  return { identity: started, startedAtMs: Date.parse(`${started} UTC`), command };
}
