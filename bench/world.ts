import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { type EmbeddedServer, startEmbedded } from '../src/embedded-postgres';
import { APP_ROLE } from '../src/embedded-postgres/roles';
import { admitAllRoles } from '../test/support/superuser';
import { interruption } from './interruption';

const execute = promisify(execFile);
const CLI = join(__dirname, '..', 'dist', 'cli', 'main.js');

/** A limit that no load reaches: the counting is measured, not the rejection. */
export const UNLIMITED = 1_000_000_000;

/** A durable PostgreSQL for the measurement, in a folder that is removed at the end. */
export interface World {
  /** The folder for files of the measurement. */
  readonly folder: string;
  readonly postmaster: number;
  urlOf(database?: string): string;
  createDatabase(name: string): Promise<void>;
  query<Row extends QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const folders = ['animal-store-bench-', 'animal-store-bench-data-'].map((name) =>
    mkdtempSync(join(tmpdir(), name)),
  );
  const [folder = '', dataDir = ''] = folders;
  const removeFolders = (): void => folders.forEach((each) => rmSync(each, { recursive: true, force: true }));
  try {
    const postgres = await startEmbedded({ dataDir, dataDirIsExplicit: true, binDir: undefined });
    return await worldOf(postgres, folder, removeFolders);
  } catch (error) {
    removeFolders();
    throw error;
  }
}

async function worldOf(postgres: EmbeddedServer, folder: string, removeFolders: () => void): Promise<World> {
  const client = new Client({ connectionString: await admitAllRoles(postgres) });
  client.on('error', () => undefined);
  await client.connect();
  const query = async <Row extends QueryResultRow>(text: string, parameters: unknown[] = []) =>
    (await client.query<Row>(text, parameters)).rows;
  const [file] = await query<{ text: string }>(`SELECT pg_read_file('postmaster.pid') AS text`);
  return {
    folder,
    postmaster: Number.parseInt(file?.text ?? '', 10),
    urlOf: (database) => postgres.url(database),
    createDatabase: async (name) => {
      await query(`CREATE DATABASE ${name} OWNER ${APP_ROLE}`);
    },
    query,
    stop: async () => {
      await client.end();
      await postgres.stop();
      removeFolders();
    },
  };
}

/** Runs a command of the built command line. @returns its output */
export async function runCli(databaseUrl: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const { stdout } = await execute(process.execPath, [CLI, ...args], { env, signal: interruption });
  return stdout.trim();
}

/** Adds the same animals in every run. @returns the output of `seed` */
export function seedPets(databaseUrl: string, count: number): Promise<string> {
  return runCli(databaseUrl, 'seed', '--pets', String(count), '--random-seed', 'bench');
}

/** Creates a key of a new Enterprise account. */
export async function createKey(
  databaseUrl: string,
  account: string,
  perMinute: number,
  perDay: number,
): Promise<string> {
  const numbers = ['--per-minute', String(perMinute), '--per-day', String(perDay)];
  const plan = ['--account', account, '--plan', 'enterprise', ...numbers];
  const printed = await runCli(databaseUrl, 'keys', 'create', ...plan, '--json');
  return (JSON.parse(printed) as { key: string }).key;
}
