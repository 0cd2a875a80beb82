import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from './errors';

/** What stands at the path itself (a link is not followed); undefined when nothing does. */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Whether the path is a real folder of one of these users that nobody else can write to. In folders where everybody
 * may create names (`/tmp`), a name of ours may have been taken by someone who wants us to use their folder.
 */
export function isPrivateFolder(path: string, owners: readonly number[]): boolean {
  const stats = lookAt(path);
  return stats?.isDirectory() === true && owners.includes(stats.uid) && (stats.mode & 0o022) === 0;
}

/** Creates a folder with exactly this mode, whatever the umask; false when the name is taken. */
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

/** Creates the missing folders above `path`, open to be walked through. */
export function makeParents(path: string): void {
  const parent = dirname(path);
  if (parent === path || lookAt(parent) !== undefined) return;
  makeParents(parent);
  makeFolder(parent, 0o755);
}

/** The path with all links resolved, as far as it exists. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}

/** The nearest folder on the way up that exists, the path itself included. */
export function nearestExisting(path: string): string {
  return lookAt(path) === undefined && dirname(path) !== path ? nearestExisting(dirname(path)) : path;
}
