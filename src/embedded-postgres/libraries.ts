import { chownSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { makeFolder } from './folders';
import type { ServerUser } from './server-user';

interface LibraryLink {
  /** Relative to the package: `native/lib/libpq.so.5.18`. */
  readonly source: string;
  /** In the same folder: `native/lib/libpq.so.5`. */
  readonly target: string;
}

/**
 * Makes links to the package's libraries in an existing folder. npm packages contain no links, and the package's
 * postinstall script, which would make them, does not run here.
 */
export function linkLibraries(packageRoot: string, folder: string): void {
  for (const { source, target } of libraryLinks(packageRoot)) {
    const link = join(folder, basename(target));
    rmSync(link, { force: true });
    symlinkSync(relative(folder, join(packageRoot, source)), link);
  }
}

/**
 * Replaces `folder` by one with links to the package's libraries. It is renewed at every start, because the project or
 * the data folder may have moved. It belongs to the server's user, so that the service can start as this user later.
 *
 * @returns the search path of libraries
 */
export function renewLinkFolder(packageRoot: string, folder: string, user: ServerUser | undefined): string {
  rmSync(folder, { recursive: true, force: true });
  makeFolder(folder, 0o755);
  linkLibraries(packageRoot, folder);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return searchPath(packageRoot, folder);
}

/** Returns true if LD_LIBRARY_PATH can hold these folders. It separates folders by `:` or `;` and expands `$`. */
export function isSearchable(packageRoot: string, folder: string): boolean {
  return !/[;$]|:.*:/.test(searchPath(packageRoot, folder));
}

function searchPath(packageRoot: string, folder: string): string {
  return `${folder}:${join(packageRoot, 'native', 'lib')}`;
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
