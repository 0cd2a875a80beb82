import { createHash } from 'node:crypto';
import { accessSync, chownSync, constants, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { clusterOf } from './cluster';
import { isPrivateFolder, lookAt, makeFolder } from './folders';
import { APP_ROLE } from './roles';
import { ownerUid, type ServerUser } from './server-user';

export const PORT = 5432;

/** A socket's address holds 104 bytes on macOS and 108 on Linux. */
const PATH_LIMIT_BYTES = 100;

/** Root's folder first: nobody else can take names in it. Not os.tmpdir(), which can be private and long. */
const SHORT_FOLDERS = process.getuid?.() === 0 ? ['/run', '/tmp'] : ['/tmp'];

/** The folder of the server's socket: the data folder, or a private one with a shorter path if that is too long. */
export function prepareSocketDirectory(
  directory: string,
  user: ServerUser | undefined,
  shortFolders: readonly string[] = SHORT_FOLDERS,
): string {
  if (Buffer.byteLength(socketPath(directory)) <= PATH_LIMIT_BYTES) return directory;
  const owner = ownerUid(user) ?? 0;
  const name = createHash('sha256').update(`${owner}:${directory}`).digest('hex').slice(0, 16);
  const path = join(shortFolders.find(isWritable) ?? '/tmp', `animal-store-${name}`);
  makeFolder(path, 0o700);
  // Root's own is one that an earlier start created and was killed before it gave it away. The name is the same at
  // every start, so that a start after a crash leaves no second folder; another user may have taken it.
  const isOurs = isPrivateFolder(path, user === undefined ? [owner] : [owner, 0]);
  const folder = isOurs ? path : mkdtempSync(`${path}-`);
  if (user !== undefined && lookAt(folder)?.uid !== user.uid) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Whether a running server's socket is in the data folder or in a private folder of the data's owner. */
export function isSocketTrusted(socketDirectory: string, directory: string): boolean {
  return (
    socketDirectory === directory || isPrivateFolder(socketDirectory, [statSync(clusterOf(directory)).uid])
  );
}

/** Removes the folder with the short path once the server has ended; the data folder stays. */
export function removeSocketDirectory(socketDirectory: string, directory: string): void {
  if (socketDirectory === directory) return;
  try {
    rmdirSync(socketDirectory);
  } catch {
    // Somebody put something into it, or removed it already: an empty folder is not worth a failed stop.
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
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
