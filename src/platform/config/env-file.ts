import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { parseEnv } from 'node:util';
import { UserError } from '../errors/user-error';

const ENV_FILE = '.env';
/** Write permission of the group and of all others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Adds the variables of `.env` in the working directory to the environment. Variables that are set keep their value.
 *
 * @throws UserError if the file cannot be read, or if another user can change it: EMBEDDED_PG_BIN runs programs
 */
export function loadEnvFile(): void {
  if (!existsSync(ENV_FILE)) return;
  for (const [name, value] of Object.entries(parseEnv(readTrusted()))) process.env[name] ??= value;
}

function readTrusted(): string {
  let file: number | undefined;
  try {
    // Opening a named pipe must not wait for a writer. The checks use the open file, which cannot be replaced.
    file = openSync(ENV_FILE, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = fstatSync(file);
    rejectUntrusted(stats);
    if (stats.isFile()) return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UserError) throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
  throw new UserError('The file .env cannot be read: make it a file that this user may read, or remove it.');
}

function rejectUntrusted(target: Stats): void {
  // Windows has neither user ids nor these modes.
  const user = process.getuid?.();
  if (user === undefined) return;
  const path = realpathSync(ENV_FILE);
  // Another user's link could name any file of this user.
  const owners = [target.uid, lstatSync(ENV_FILE).uid];
  if (!owners.every((owner) => owner === user || owner === 0)) {
    throw new UserError(
      `The file ${path} belongs to another user: give it to this user or to root, or remove it.`,
    );
  }
  if ((target.mode & WRITABLE_BY_OTHERS) !== 0) {
    throw new UserError(
      `The file ${path} can be changed by other users: run chmod go-w on it, or remove it.`,
    );
  }
}
