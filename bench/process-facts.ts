import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1_024;

/** Indexes of the fields after the name in /proc/<pid>/stat (proc(5)): user and system time, own and of ended children. */
const PARENT = 1;
const TIMES = [11, 12, 13, 14];

/** Returns the processor time of a process and its children. PostgreSQL has a child for each connection. */
export function cpuSeconds(pid: number): number {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = names.map((name) => ({ name, fields: statOf(name) }));
  return stats
    .filter(({ name, fields }) => name === `${pid}` || fields[PARENT] === `${pid}`)
    .flatMap(({ fields }) => TIMES.map((field) => Number(fields[field]) / TICKS_PER_SECOND))
    .reduce((sum, each) => sum + each, 0);
}

/** Returns the current and the highest resident memory of a process, in MiB. */
export function memoryMiB(pid: number): { readonly now: number; readonly highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / KIB_PER_MIB;
  return { now: field('VmRSS'), highest: field('VmHWM') };
}

/** Returns the fields after the name; none if the process has ended. */
function statOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
