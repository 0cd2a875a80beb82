import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const BYTES_PER_KIB = 1_024;
const BYTES_PER_MIB = 1_048_576;

/** Indexes of the fields after the name in /proc/<pid>/stat (proc(5)). */
const FIELD = { parent: 1, utime: 11, stime: 12, childrenUtime: 13, childrenStime: 14 } as const;

/** Returns the processor time of a process and of its ended children, in seconds. */
function cpuOf(pid: number): number {
  const fields = statOf(pid);
  const ticks = [FIELD.utime, FIELD.stime, FIELD.childrenUtime, FIELD.childrenStime]
    .map((field) => Number(fields[field] ?? 0))
    .reduce((sum, each) => sum + each, 0);
  return ticks / TICKS_PER_SECOND;
}

/** Returns the processor time of a process and its living children. PostgreSQL has a child for each connection. */
export function cpuSeconds(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + cpuOf(each), 0);
}

/** Returns the current and the highest resident memory of a process, in MiB. */
export function memoryMiB(pid: number): { readonly now: number; readonly highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * BYTES_PER_KIB) / BYTES_PER_MIB;
  return { now: field('VmRSS'), highest: field('VmHWM') };
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)[FIELD.parent]) === parent);
}

/** Returns an empty string if the process has ended. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
