import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type QueryResultRow } from 'pg';
import { type EmbeddedServer, startEmbedded } from '../../../src/database/embedded';
import { processFacts } from '../../../src/database/embedded/process-facts';
import { APP_ROLE } from '../../../src/database/embedded/roles';
import { ADMIN_URL_VARIABLE, createTemplate, SERVICE_ROLE_VARIABLE } from '../../support/database';
import { dataFolder } from '../../support/service';
import { admitAllRoles, superuserUrl } from '../../support/superuser';
import { until } from '../../support/until';

/** A PostgreSQL of its own, which a spec may stop, kill and freeze. */
export interface OwnServer {
  /** The service's. */
  url(database?: string): string;
  /** The superuser's. */
  adminUrl(database?: string): string;
  /** Does nothing if it runs. */
  start(): Promise<void>;
  /** As an administrator would: it ends every session first. */
  stop(): Promise<void>;
  /** SIGKILL of the postmaster; resolves when no process of it is left. */
  kill(): Promise<void>;
  /** Every process of it stands still, and every connection to it stays open. */
  freeze(): void;
  thaw(): void;
  /** Stops it and takes its files away. */
  remove(): Promise<void>;
}

/** @param durable as a server that must lose nothing */
export async function startOwnServer({ durable = false, path = '' } = {}): Promise<OwnServer> {
  const folder = path === '' ? dataFolder() : { path, remove: () => undefined };
  const start = () =>
    startEmbedded({ dataDir: folder.path, dataDirIsExplicit: true, binDir: undefined, durable });
  let server: EmbeddedServer = await start();
  let isRunning = true;
  await admitAllRoles(server);
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT');
  };
  return {
    url: (database) => server.url(database),
    adminUrl: (database) => superuserUrl(server.url(database)),
    start: async () => {
      if (!isRunning) server = await start();
      isRunning = true;
    },
    stop: async () => {
      isRunning = false;
      await server.stop();
    },
    kill: async () => {
      isRunning = false;
      const postmaster = postmasterOf(folder.path);
      const children = childrenOf(postmaster);
      process.kill(postmaster, 'SIGKILL');
      await server.stop();
      // A session that is busy serves its client until it waits, and only then notices that the postmaster is gone.
      await until(() => children.every((pid) => processFacts(pid) === undefined));
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

/** The same, and from here on the databases and applications of this spec file are made on it. */
export async function useOwnServer(): Promise<OwnServer> {
  const server = await startOwnServer();
  process.env[ADMIN_URL_VARIABLE] = server.adminUrl();
  process.env[SERVICE_ROLE_VARIABLE] = APP_ROLE;
  await createTemplate(server.adminUrl());
  return server;
}

/** One statement on a connection of its own. */
export async function query<Row extends QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
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
    // It ended in this moment.
  }
}
