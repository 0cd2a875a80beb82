import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Only the owner may read a backup: it holds the hashes of keys. */
const MODE = 0o600;

/**
 * Compresses text into a file that appears when it is complete and on the disk. Until then it has another name next
 * to it; after a failure that file is removed.
 *
 * @returns the number of bytes
 */
export async function writeWholeFile(path: string, text: AsyncIterable<Buffer>): Promise<number> {
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`;
  const file = createWriteStream(partial, { flags: 'wx', mode: MODE, flush: true });
  try {
    await pipeline(text, createGzip(), file);
    await rename(partial, path);
    await syncFolder(dirname(path));
    return file.bytesWritten;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Stores the new name of the file on the disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
