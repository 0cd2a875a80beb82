import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedServer, startEmbedded } from '../../../src/embedded-postgres';
import { isRunning } from '../../support/is-running';
import { dataFolder } from '../../support/service';
import { admitAllRoles, superuserUrl } from '../../support/superuser';
import { until } from '../../support/until';

/** A PostgreSQL server that a spec may stop, kill and freeze. */
export interface OwnServer {
  /** The URL of the service's role. */
  url(): string;
  /** The URL of the superuser. */
  adminUrl(): string;
  /** Starts the server if it is stopped. */
  start(): Promise<void>;
  /** Sends SIGKILL to the postmaster and waits until all processes of the server have ended. */
  kill(): Promise<void>;
  /** Suspends every process of the server; the connections stay open. */
  freeze(): void;
  thaw(): void;
  /** Stops the server and deletes its files. */
  remove(): Promise<void>;
}

/** @param durable keeps fsync on, so that a crash loses no commit */
export async function startOwnServer({ durable = false } = {}): Promise<OwnServer> {
  const folder = dataFolder();
  const start = () => startEmbedded({ dataDir: folder.path, durable });
  let server: EmbeddedServer = await start();
  let hasStarted = true;
  await admitAllRoles(server);
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT');
  };
  return {
    url: () => server.url(),
    adminUrl: () => superuserUrl(server.url()),
    start: async () => {
      if (!hasStarted) server = await start();
      hasStarted = true;
    },
    kill: async () => {
      hasStarted = false;
      const postmaster = postmasterOf(folder.path);
      const children = childrenOf(postmaster);
      process.kill(postmaster, 'SIGKILL');
      await server.stop();
      // A busy session notices the death of the postmaster only when it next waits.
      await until(() => !children.some(isRunning));
    },
    freeze: () => {
      const postmaster = postmasterOf(folder.path);
      signal(postmaster, 'SIGSTOP');
      frozen = [postmaster, ...childrenOf(postmaster)];
      for (const pid of frozen) signal(pid, 'SIGSTOP');
    },
    thaw,
    remove: async () => {
      thaw();
      await server.stop();
      folder.remove();
    },
  };
}

function postmasterOf(directory: string): number {
  const [pid] = readFileSync(join(directory, 'pg18', 'postmaster.pid'), 'utf8').split('\n');
  return Number(pid);
}

function childrenOf(parent: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, of]) => of === parent)
    .map(([pid = 0]) => pid);
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has just ended.
  }
}
