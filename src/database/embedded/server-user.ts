import { readFileSync } from 'node:fs';
import { EmbeddedServerError } from './errors';

export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL's own user first; `_postgres` is its name on macOS. */
const CANDIDATES = ['postgres', '_postgres', 'nobody'];

/**
 * The user that must run the server because PostgreSQL refuses root; undefined when we are not root and run it
 * ourselves. Takes only users that exist: a system user is never created.
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

/** Whether other programs run as this user too, as they do as nobody: no file of the server is safe from them. */
export function isShared(user: ServerUser | undefined): boolean {
  return user?.name === 'nobody';
}

/** The uid that owns what the server writes. */
export function ownerUid(user: ServerUser | undefined): number | undefined {
  return user?.uid ?? process.getuid?.();
}

function parseUser(line: string): ServerUser | undefined {
  const [name, , uid, gid] = line.split(':');
  const user = { name: name ?? '', uid: Number(uid), gid: Number(gid) };
  return user.uid > 0 && user.gid > 0 ? user : undefined;
}
