import { createHash } from 'node:crypto';
import { chmodSync, chownSync, constants, accessSync, readdirSync, statSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { run } from './command';
import { EmbeddedServerError } from './errors';
import { isPrivateFolder, lookAt, makeFolder, makeParents, nearestExisting, realPath } from './folders';
import { ownerUid, type ServerUser } from './server-user';

/** The parent of the data folder if the server's user cannot reach the project of root. */
const SYSTEM_ROOT = '/var/lib/animal-store';

export interface Place {
  readonly directory: string;
  /** True if `directory` is not the requested one. */
  readonly moved: boolean;
}

/** Determines the data folder, the same for every process. Creates nothing. */
export async function locateData(
  wanted: { readonly dataDir: string; readonly dataDirIsExplicit: boolean },
  user: ServerUser | undefined,
  systemRoot = SYSTEM_ROOT,
): Promise<Place> {
  const directory = realPath(resolve(wanted.dataDir));
  if (/[\n\r]/.test(directory)) throw hasLineBreak(directory);
  if (user === undefined || (await canReach(user, nearestExisting(dirname(directory))))) {
    return { directory, moved: false };
  }
  if (wanted.dataDirIsExplicit) throw unreachable(directory, user);
  const project = createHash('sha256').update(dirname(directory)).digest('hex').slice(0, 12);
  return { directory: join(systemRoot, project), moved: true };
}

/** Creates the data folder, or makes an empty or earlier one private to the server's user. */
export function prepareData(place: Place, user: ServerUser | undefined): void {
  makeParents(place.directory);
  if (place.moved && !isPrivateFolder(dirname(place.directory), [0]))
    throw notRoots(dirname(place.directory));
  makeFolder(place.directory, 0o700);
  const stats = statSync(place.directory);
  if (!stats.isDirectory()) {
    throw new EmbeddedServerError(`${place.directory} is not a folder: set DATA_DIR to a folder.`);
  }
  const owner = ownerUid(user);
  if (stats.uid === owner && (stats.mode & 0o777) === 0o700) return;
  if (user === undefined && stats.uid === 0) return useSharedVolume(place.directory, stats);
  adopt(place.directory, stats, user);
}

/** Uses a folder of root as it is: volumes of containers often belong to root and admit us by their group. */
function useSharedVolume(directory: string, stats: Stats): void {
  if ((stats.mode & 0o002) !== 0) throw foreign(directory);
  accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
}

function adopt(directory: string, stats: Stats, user: ServerUser | undefined): void {
  const owner = ownerUid(user);
  if (stats.uid !== owner && !(user !== undefined && stats.uid === 0)) throw foreign(directory);
  // As root, DATA_DIR=/etc would otherwise close /etc to its users.
  const names = readdirSync(directory).filter((name) => name !== 'lost+found');
  if (names.length > 0 && !names.some(isOurs)) {
    throw new EmbeddedServerError(
      `The folder ${directory} holds other files: set DATA_DIR to a new or an empty folder.`,
    );
  }
  if (user !== undefined && stats.uid !== user.uid) chownSync(directory, user.uid, user.gid);
  chmodSync(directory, 0o700);
}

function isOurs(name: string): boolean {
  return /^(pg\d+|app\.lock|postgres\.log)$/.test(name);
}

async function canReach(user: ServerUser, folder: string): Promise<boolean> {
  if (lookAt(folder)?.isDirectory() !== true) return true; // prepareData reports this error.
  const args = ['-c', 'test -x "$1"', 'sh', folder];
  return (await run({ file: '/bin/sh', args, user, limitSeconds: 10 })).ok;
}

/** postmaster.pid and the settings files of PostgreSQL hold one value per line. */
function hasLineBreak(directory: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `The path of the data folder ${JSON.stringify(directory)} has a line break: set DATA_DIR to another folder.`,
  );
}

function unreachable(directory: string, user: ServerUser): EmbeddedServerError {
  return new EmbeddedServerError(
    `The folder ${directory} cannot be reached by the user ${user.name}, which runs PostgreSQL in place of root: set DATA_DIR to a folder such as /var/lib/animal-store/data, or start the service as an ordinary user.`,
  );
}

function foreign(directory: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `The folder ${directory} belongs to another user or is writable by every user: start the service as its owner, or set DATA_DIR to another folder.`,
  );
}

function notRoots(folder: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `The folder ${folder} must belong to root and be writable only by root: fix that, or set DATA_DIR.`,
  );
}
