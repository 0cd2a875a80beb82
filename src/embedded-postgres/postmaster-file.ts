import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from './errors';

/** The content of `postmaster.pid`, which a running server writes. */
export interface PostmasterFile {
  readonly pid: number;
  readonly startedAtMs: number;
  readonly socketDirectory: string;
  readonly ready: boolean;
}

/** Returns undefined if the file does not exist or has no pid yet. */
export function readPostmasterFile(cluster: string): PostmasterFile | undefined {
  let content: string;
  try {
    content = readFileSync(join(cluster, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  // Lines: pid, data folder, start in seconds, port, socket folder, listen address, shared memory, status.
  const lines = content.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return {
    pid,
    startedAtMs: Number(lines[2]) * 1000,
    socketDirectory: lines[4] ?? '',
    ready: lines[7]?.trim() === 'ready',
  };
}
