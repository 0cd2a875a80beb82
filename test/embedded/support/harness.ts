import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import type { EmbeddedOptions } from '../../../src/embedded-postgres';
import type { ServerUser } from '../../../src/embedded-postgres/options';
import { parentOfServers } from '../../support/server-folder';

/** As root the server runs as another user. Some permissions can be tested only then. */
export const isRoot = process.getuid?.() === 0;

const folders: string[] = [];
const children: Child[] = [];

export interface Child {
  readonly pid: number;
  ask(command: object): Promise<{ url?: string; refusal?: string }>;
  /** Closes its standard input. Resolves when the process has ended. */
  leave(): Promise<void>;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
}

export function options(dataDir: string, more: Partial<EmbeddedOptions> = {}): EmbeddedOptions {
  return { dataDir, durable: false, ...more };
}

/** Creates a folder that the server's user can pass through, by default in memory. `cleanUp` removes it. */
export function temporaryFolder(parent = parentOfServers()): string {
  const folder = mkdtempSync(join(parent, 'embedded-'));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** @param source another copy of src/embedded-postgres @param user undefined for the user of this process */
export function startChild(source?: string, user?: ServerUser): Child {
  const script = join(__dirname, 'child.ts');
  const args = ['-r', join(__dirname, '..', '..', 'support', 'typescript.cjs'), script];
  const child = spawn(process.execPath, source === undefined ? args : [...args, source], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(user && { uid: user.uid, gid: user.gid }),
  });
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

export async function killChildren(): Promise<void> {
  await Promise.all(children.splice(0).map((child) => child.kill()));
}

/** Stops the processes and removes the folders of a spec file. */
export async function cleanUp(): Promise<void> {
  await killChildren();
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
