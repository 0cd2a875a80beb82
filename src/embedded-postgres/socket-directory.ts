import { createHash } from 'node:crypto';
import { accessSync, chownSync, constants, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { clusterOf } from './cluster';
import { isPrivateFolder, lookAt, makeFolder } from './folders';
import { APP_ROLE } from './roles';
import { ownerUid, type ServerUser } from './server-user';

export const PORT = 5432;

/** The address of a Unix socket has 104 bytes on macOS and 108 on Linux. */
const PATH_LIMIT_BYTES = 100;

/** /run is first, because only root can create names in it. os.tmpdir() may be private or long. */
const SHORT_FOLDERS = process.getuid?.() === 0 ? ['/run', '/tmp'] : ['/tmp'];

/** Returns the folder of the server's socket: the data folder or, if its path is too long, a private short one. */
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
  // The name is the same at every start, so that a start after a crash creates no second folder. The folder belongs to
  // root if an earlier start was killed before chown. If another user has created the name, a new name is used.
  const isOurs = isPrivateFolder(path, user === undefined ? [owner] : [owner, 0]);
  const folder = isOurs ? path : mkdtempSync(`${path}-`);
  if (user !== undefined && lookAt(folder)?.uid !== user.uid) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Returns true if the socket is in the data folder or in a private folder of the data's owner. */
export function isSocketTrusted(socketDirectory: string, directory: string): boolean {
  return (
    socketDirectory === directory || isPrivateFolder(socketDirectory, [statSync(clusterOf(directory)).uid])
  );
}

/** Removes the private short folder after the server has ended. Keeps the data folder. */
export function removeSocketDirectory(socketDirectory: string, directory: string): void {
  if (socketDirectory === directory) return;
  try {
    rmdirSync(socketDirectory);
  } catch {
    // The folder is not empty, or does not exist. The stop must not fail for a remaining empty folder.
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

/** Returns true if a server listens on the socket, in this container or in another. */
export function isListening(socketDirectory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(socketDirectory));
    const end = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.setTimeout(2000, () => end(true)); // A server listens but does not accept.
  });
}

/**
 * Returns a URL for node-postgres, TypeORM and libpq. It has the port and the TLS mode because the drivers would
 * otherwise read PGPORT and PGSSLMODE.
 */
export function connectionUrl(socketDirectory: string, database: string): string {
  const query = `host=${encodeURIComponent(socketDirectory)}&sslmode=disable`;
  return `postgresql://${APP_ROLE}@localhost:${PORT}/${encodeURIComponent(database)}?${query}`;
}
