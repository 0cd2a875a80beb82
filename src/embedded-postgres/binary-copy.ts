import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, cpSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedServerError, errnoOf } from './errors';
import { isPrivateFolder, lookAt, makeFolder } from './folders';
import { linkLibraries } from './libraries';

/** The parent folder of root's copy: every user can reach it, and only root can create names in it. */
export const COPIES = '/var/lib';

/**
 * Copies the package once to a folder in `parent`, with the links of its libraries. Every user can read the copy; only
 * the user of this process can write to it.
 *
 * @returns the folder of the copy, which replaces the package's
 */
export function copyBinaries(packageRoot: string, parent: string): string {
  const manifest = readFileSync(join(packageRoot, 'package.json'));
  const name = createHash('sha256').update(manifest).digest('hex').slice(0, 12);
  const copy = join(parent, `animal-store-postgres-${name}`);
  if (lookAt(copy) !== undefined) {
    requireOurs(copy);
    // A cleaner of old files may have removed single files of the copy.
    if (holdsAll(copy, packageRoot)) return copy;
    removeAside(copy);
  }
  putInPlace(makeCopy(packageRoot, `${copy}.${randomUUID()}`), copy);
  requireOurs(copy);
  return copy;
}

function makeCopy(packageRoot: string, draft: string): string {
  makeFolder(draft, 0o700);
  try {
    cpSync(join(packageRoot, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    linkLibraries(draft, join(draft, 'native', 'lib'));
    openToReaders(draft);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  return draft;
}

/** Renames the draft to its final name. If a concurrent process was first, its copy is used. */
function putInPlace(draft: string, copy: string): void {
  try {
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errnoOf(error) ?? '')) throw error;
  }
}

function removeAside(copy: string): void {
  const aside = `${copy}.${randomUUID()}`;
  renameSync(copy, aside);
  rmSync(aside, { recursive: true, force: true });
}

/** Makes all files readable for every user: `npm ci` may have run with a restrictive umask. */
function openToReaders(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    if (entry.isFile()) chmodSync(path, (lstatSync(path).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

function holdsAll(copy: string, packageRoot: string): boolean {
  const native = join(packageRoot, 'native');
  return readdirSync(native, { recursive: true, withFileTypes: true }).every((entry) => {
    const original = join(entry.parentPath, entry.name);
    const copied = lookAt(join(copy, 'native', original.slice(native.length)));
    return copied !== undefined && (!entry.isFile() || copied.size === lstatSync(original).size);
  });
}

function requireOurs(copy: string): void {
  if (isPrivateFolder(copy, [process.getuid?.() ?? 0])) return;
  throw new EmbeddedServerError(
    `The folder ${copy}, needed for PostgreSQL's programs, belongs to another user: remove it, or set DATABASE_URL.`,
  );
}
