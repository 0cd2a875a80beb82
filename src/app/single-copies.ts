import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { UserError } from '../platform/errors/user-error';

/**
 * Packages of which the service and its extensions must load the same copy.
 *
 * Each copy has exception classes (@nestjs/common), tokens of providers (core, typeorm, animal-store) or metadata
 * (class-transformer) of its own. The other shared packages keep their metadata on the global object.
 */
const SINGLE_COPIES = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/typeorm',
  'animal-store',
  'class-transformer',
  'typeorm',
];

const OWN_FOLDER = join(__dirname, '..', '..');
const PACKAGES = `${sep}node_modules${sep}`;

/**
 * Rejects second copies of packages. They would fail the start within NestJS, or turn every exception into a 500.
 *
 * It does not see a copy that only ES modules of a package import: Node.js has no list of those.
 *
 * @throws UserError that names the folders of each
 */
export function requireSingleCopies(): void {
  const loaded = Object.keys(require.cache);
  const repeated = SINGLE_COPIES.flatMap((name) => {
    const files = [...loaded, ...filesForProgram(name)];
    const folders = new Set(files.flatMap((file) => foldersOf(name, file)));
    if (name === 'animal-store') folders.add(OWN_FOLDER);
    return folders.size > 1 ? [`${name} (${[...folders].join(' and ')})`] : [];
  });
  if (repeated.length > 0) {
    throw new UserError(
      `Two copies are in use of ${repeated.join(', ')}. List each in peerDependencies instead of dependencies, run npm dedupe and start again.`,
    );
  }
}

/** Returns what a program that is an ES module loads by this name. `require.cache` lists only what CommonJS loads. */
function filesForProgram(name: string): string[] {
  const [, start] = process.argv;
  if (require.main !== undefined || start === undefined) return [];
  try {
    const program = realpathSync(start);
    // The program of a test runner is not the program of a team.
    return program.includes(PACKAGES) ? [] : [createRequire(program).resolve(name)];
  } catch {
    return [];
  }
}

/** Returns the folder of the package if it holds the file itself, not in a package of its own. */
function foldersOf(name: string, file: string): string[] {
  const end = file.lastIndexOf(PACKAGES) + PACKAGES.length;
  const path = name.replaceAll('/', sep) + sep;
  return file.startsWith(path, end) && end >= PACKAGES.length ? [file.slice(0, end + path.length - 1)] : [];
}
