import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from './is-running';

const MEMORY = '/dev/shm';
/** The write-ahead log grows to 1 GiB, and each database takes 8 MB. */
const NEEDED_BYTES = 2 * 1024 ** 3;
const PREFIX = 'animal-store-test-';

/**
 * Creates the folder of the run's server, in memory if Linux has enough of it. A run creates and deletes 30,000 files; on
 * ext4 that takes 40 s of processor time, because a new file avoids the places of those deleted in the last seconds.
 */
export function createServerFolder(): string {
  const parent = parentOfServers();
  removeLeftovers(parent);
  return mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
}

/** Returns the folder for data folders: memory, if Linux has enough of it. */
export function parentOfServers(): string {
  return hasSpace(MEMORY) ? MEMORY : tmpdir();
}

function hasSpace(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

/** Removes the folders of runs that were interrupted. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    rmSync(join(parent, name), { recursive: true, force: true });
  }
}
