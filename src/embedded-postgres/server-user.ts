import { readFileSync } from 'node:fs';
import { EmbeddedServerError } from './errors';

export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL's own user is first; on macOS its name is `_postgres`. */
const CANDIDATES = ['postgres', '_postgres', 'nobody'];

/**
 * Chooses an existing user to run the server, because PostgreSQL rejects root. Returns undefined if this process does
 * not run as root; then the server runs as the user of this process.
 */
export function chooseServerUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n').map(parseUser);
  for (const name of CANDIDATES) {
    const user = users.find((each) => each?.name === name);
    if (user !== undefined) return user;
  }
  throw new EmbeddedServerError(
    'PostgreSQL does not run as root and there is no user postgres or nobody to run it: start the service as an ordinary user, or set DATABASE_URL.',
  );
}

/** Returns true if other programs run as this user too and can read the server's files. */
export function isSharedUser(user: ServerUser | undefined): boolean {
  return user?.name === 'nobody';
}

/** Returns the uid that owns the server's files. */
export function ownerUid(user: ServerUser | undefined): number | undefined {
  return user?.uid ?? process.getuid?.();
}

function parseUser(line: string): ServerUser | undefined {
  const [name, , uid, gid] = line.split(':');
  const user = { name: name ?? '', uid: Number(uid), gid: Number(gid) };
  return user.uid > 0 && user.gid > 0 ? user : undefined;
}
