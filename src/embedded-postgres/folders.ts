import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from './errors';

/** Returns the stats of the path itself (a link is not followed), or undefined if it does not exist. */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Returns true if the path is a real folder of one of these users and no other user can write to it. In a folder such as
 * `/tmp`, another user may have created our name to make us use their folder.
 */
export function isPrivateFolder(path: string, owners: readonly number[]): boolean {
  const stats = lookAt(path);
  return stats?.isDirectory() === true && owners.includes(stats.uid) && (stats.mode & 0o022) === 0;
}

/** Creates a folder with exactly this mode, independent of the umask. Returns false if the name exists. */
export function makeFolder(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
  chmodSync(path, mode);
  return true;
}

/** Creates the missing folders above `path` with mode 0755, so that every user can pass through them. */
export function makeParents(path: string): void {
  const parent = dirname(path);
  if (parent === path || lookAt(parent) !== undefined) return;
  makeParents(parent);
  makeFolder(parent, 0o755);
}

/** Resolves the links in the existing part of the path. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}

/** Returns the path if it exists, else its nearest existing parent. */
export function nearestExisting(path: string): string {
  return lookAt(path) === undefined && dirname(path) !== path ? nearestExisting(dirname(path)) : path;
}
