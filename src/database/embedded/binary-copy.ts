import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, cpSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedServerError, errnoOf } from './errors';
import { isPrivateFolder, lookAt, makeFolder } from './folders';
import { linkLibraries } from './libraries';

/** Only root, who alone needs a copy there, can take names in it; every user can reach it. */
export const COPIES = '/var/lib';

/**
 * Copies the package once to a folder in `parent` that everybody may read and only we may write, for a server user
 * who cannot reach the original. Returns that folder, which stands in for the package's.
 */
export function copyBinaries(packageRoot: string, parent: string): string {
  const manifest = readFileSync(join(packageRoot, 'package.json'));
  const name = createHash('sha256').update(manifest).digest('hex').slice(0, 12);
  const copy = join(parent, `animal-store-postgres-${name}`);
  if (lookAt(copy) !== undefined) {
    requireOurs(copy);
    // Cleaners of temporary folders take single old files away.
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
    linkLibraries(draft);
    openToReaders(draft);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  return draft;
}

/** Whole or not at all: of several processes that copy at once, the first to rename wins and the others use its copy. */
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

/** A restrictive umask at `npm ci` must not outlive the copy. */
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
    `The folder ${copy}, needed for PostgreSQL's programs, belongs to someone else: remove it, or set DATABASE_URL.`,
  );
}
