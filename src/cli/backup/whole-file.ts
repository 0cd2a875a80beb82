import { randomUUID } from 'node:crypto';
import { createWriteStream, lstatSync, rmSync, type WriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDatabaseUnavailable } from '../../database/database-errors';
import { codeOf, UserError } from '../../config/user-error';

/** @throws UserError if the file exists and must not be replaced, or is not a file */
export function rejectExisting(path: string, isReplacing: boolean): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && !found.isFile()) throw new UserError(`${path} is not a regular file: give another name.`);
  if (found && !isReplacing) {
    throw new UserError(`The file ${path} exists: give another name, or replace it with --force.`);
  }
}

/**
 * Writes a file that appears when it is complete and on the disk. Until then it has another name next to it. Only its
 * owner may read it: a backup holds the hashes of keys.
 *
 * @returns the number of bytes
 */
export async function writeWholeFile(
  path: string,
  write: (file: WriteStream) => Promise<unknown>,
): Promise<number> {
  const partial = `${path}.${randomUUID()}.partial`;
  const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
  const end = (signal: NodeJS.Signals): void => {
    rmSync(partial, { force: true });
    process.kill(process.pid, signal);
  };
  process.once('SIGINT', end).once('SIGTERM', end).once('SIGHUP', end);
  try {
    await write(file);
    await rename(partial, path);
    const folder = await open(dirname(path));
    await folder.sync();
    await folder.close();
    return file.bytesWritten;
  } catch (error) {
    await rm(partial, { force: true });
    if (!(error instanceof Error && 'syscall' in error) || isDatabaseUnavailable(error)) throw error;
    throw new UserError(
      `The file ${path} cannot be written (${codeOf(error)}): give a file in an existing folder that this user may write, with enough space.`,
    );
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end).off('SIGHUP', end);
  }
}
