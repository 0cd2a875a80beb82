import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import type { EmbeddedOptions } from '../../../src/embedded-postgres';
import { parentOfServers } from '../../support/server-folder';

export { until } from '../../support/until';

/** As root the server runs as another user. Some permissions can be tested only then. */
export const isRoot = process.getuid?.() === 0;

const folders: string[] = [];
const children: Child[] = [];

export interface Child {
  readonly pid: number;
  ask(command: object): Promise<{ url?: string; won?: boolean; refusal?: string }>;
  /** Closes its standard input. Resolves when the process has ended. */
  leave(): Promise<void>;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
}

export function options(dataDir: string, more: Partial<EmbeddedOptions> = {}): EmbeddedOptions {
  return { dataDir, dataDirIsExplicit: true, binDir: undefined, durable: false, ...more };
}

/** Creates a folder that the server's user can pass through, by default in memory. `cleanUp` removes it. */
export function temporaryFolder(parent = parentOfServers()): string {
  const folder = mkdtempSync(join(parent, 'embedded-'));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

export function startChild(): Child {
  const args = ['-r', join(__dirname, '..', '..', 'support', 'typescript.cjs'), join(__dirname, 'child.ts')];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const gone = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  const started: Child = {
    pid: child.pid!,
    ask: async (command) => {
      child.stdin.write(`${JSON.stringify(command)}\n`);
      return JSON.parse((await lines.next()).value);
    },
    leave: () => {
      child.stdin.end();
      return gone;
    },
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
  };
  children.push(started);
  return started;
}

/** Stops the processes and removes the folders of a spec file. */
export async function cleanUp(): Promise<void> {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
}

export async function query(url: string, sql: string): Promise<any[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

export async function rejectionOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'not refused',
    (error: unknown) => String(error),
  );
}
