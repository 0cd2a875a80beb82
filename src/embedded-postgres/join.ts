import { setTimeout as sleep } from 'node:timers/promises';
import { clusterOf } from './cluster';
import { locateData } from './data-directory';
import type { EmbeddedOptions, EmbeddedServer } from './embedded-server';
import { EmbeddedServerError, explainFolder } from './errors';
import { lockPurpose } from './lock';
import { readPostmasterFile } from './postmaster-file';
import { processFacts } from './process-facts';
import { chooseServerUser } from './server-user';
import { isListening, connectionUrl, isSocketTrusted } from './socket-directory';

const START_LIMIT_MS = 10_000;

/**
 * Finds the server that a service runs in dataDir, or returns undefined. Waits for a server that is starting.
 * Takes no lock and changes nothing, so that the CLI works while the service runs.
 */
export async function joinEmbedded(
  options: EmbeddedOptions,
): Promise<Pick<EmbeddedServer, 'directory' | 'url'> | undefined> {
  try {
    const { directory } = await locateData(options, chooseServerUser());
    const socketDirectory = await findSocket(directory);
    if (socketDirectory === undefined) return undefined;
    return { directory, url: (database = 'postgres') => connectionUrl(socketDirectory, database) };
  } catch (error) {
    throw explainFolder(error, options.dataDir);
  }
}

async function findSocket(directory: string): Promise<string | undefined> {
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    const purpose = lockPurpose(directory);
    // The server of a command stops when the command ends, and would disconnect every other client.
    if (purpose !== 'service') return undefined;
    const file = readPostmasterFile(clusterOf(directory));
    if (file?.ready === true && processFacts(file.pid) !== undefined) {
      if (!isSocketTrusted(file.socketDirectory, directory)) throw foreignSocket(file.socketDirectory);
      if (await isListening(file.socketDirectory)) return file.socketDirectory;
    }
    if (Date.now() > deadline) return undefined;
    await sleep(50);
  }
}

function foreignSocket(folder: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `The folder ${folder}, where the running server has its socket, belongs to another user: restart the service.`,
  );
}
