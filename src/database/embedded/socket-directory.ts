import { createHash } from 'node:crypto';
import { chownSync, rmdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { EmbeddedServerError } from './errors';
import { isPrivateFolder, lookAt, makeFolder } from './folders';
import { APP_ROLE } from './roles';
import { ownerUid, type ServerUser } from './server-user';

export const PORT = 5432;

/** A socket's address holds 104 bytes on macOS and 108 on Linux. */
const PATH_LIMIT_BYTES = 100;

/** Not os.tmpdir(): that can be a private folder of root, and long. */
const TEMPORARY = '/tmp';

/** The folder of the server's socket: the data folder, or one in /tmp made for it when its path is too long. */
export function prepareSocketDirectory(
  directory: string,
  user: ServerUser | undefined,
  temporary = TEMPORARY,
): string {
  if (Buffer.byteLength(socketPath(directory)) <= PATH_LIMIT_BYTES) return directory;
  const owner = ownerUid(user) ?? 0;
  const name = createHash('sha256').update(`${owner}:${directory}`).digest('hex').slice(0, 16);
  const folder = join(temporary, `animal-store-${name}`);
  makeFolder(folder, 0o700);
  // Root's own is one that an earlier start created and did not come to give away.
  if (!isPrivateFolder(folder, user === undefined ? [owner] : [owner, 0])) {
    throw new EmbeddedServerError(
      `The folder ${folder}, needed because DATA_DIR is a long path, belongs to someone else: remove it, or set a shorter DATA_DIR.`,
    );
  }
  if (user !== undefined && lookAt(folder)?.uid !== user.uid) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Removes the folder in /tmp once the server has ended; the data folder stays. */
export function removeSocketDirectory(socketDirectory: string, directory: string): void {
  if (socketDirectory === directory) return;
  try {
    rmdirSync(socketDirectory);
  } catch {
    // Somebody put something into it, or removed it already: an empty folder is not worth a failed stop.
  }
}

function socketPath(socketDirectory: string): string {
  return join(socketDirectory, `.s.PGSQL.${PORT}`);
}

/** Whether a server listens there, in whichever container it runs. */
export function answers(socketDirectory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(socketDirectory));
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.setTimeout(2000, () => end(true)); // Nobody accepts, but somebody listens.
  });
}

/**
 * What node-postgres, TypeORM and libpq all understand. The port and the TLS mode are spelt out because the drivers
 * would else take them from PGPORT and PGSSLMODE.
 */
export function connectionUrl(socketDirectory: string, database: string): string {
  const query = `host=${encodeURIComponent(socketDirectory)}&sslmode=disable`;
  return `postgresql://${APP_ROLE}@localhost:${PORT}/${encodeURIComponent(database)}?${query}`;
}
