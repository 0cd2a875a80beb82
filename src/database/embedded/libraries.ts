import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { errnoOf } from './errors';

interface LibraryLink {
  /** Relative to the package: `native/lib/libpq.so.5.18`. */
  readonly source: string;
  /** In the same folder: `native/lib/libpq.so.5`. */
  readonly target: string;
}

/**
 * npm packages hold no links, and the package's postinstall, which would make those of its libraries, does not run
 * here: makes the missing ones. Returns false where the package is read-only.
 */
export function linkLibraries(packageRoot: string): boolean {
  try {
    for (const link of missingLinks(packageRoot)) linkInPlace(packageRoot, link);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(errnoOf(error) ?? '')) return false;
    throw error;
  }
}

/**
 * Makes the missing links in `folder` instead, and returns the search path of libraries. The folder is made anew at
 * every start: the project may have moved since.
 */
export function linkFolder(packageRoot: string, folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  for (const { source, target } of missingLinks(packageRoot)) {
    symlinkSync(join(packageRoot, source), join(folder, basename(target)));
  }
  return [folder, join(packageRoot, 'native', 'lib')].join(delimiter);
}

/** The links that are not there; one that points nowhere counts as missing. */
function missingLinks(packageRoot: string): readonly LibraryLink[] {
  return libraryLinks(packageRoot).filter(({ target }) => !existsSync(join(packageRoot, target)));
}

/** Makes one link of the package; another process may be doing the same. */
function linkInPlace(packageRoot: string, { source, target }: LibraryLink): void {
  try {
    symlinkSync(basename(source), join(packageRoot, target));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

function libraryLinks(packageRoot: string): readonly LibraryLink[] {
  const file = join(packageRoot, 'native', 'pg-symlinks.json');
  if (!existsSync(file)) return [];
  const links: unknown = JSON.parse(readFileSync(file, 'utf8'));
  return Array.isArray(links) ? links.filter(isLibraryLink) : [];
}

function isLibraryLink(value: unknown): value is LibraryLink {
  if (typeof value !== 'object' || value === null || !('source' in value) || !('target' in value))
    return false;
  return typeof value.source === 'string' && typeof value.target === 'string';
}
