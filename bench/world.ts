import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startEmbedded } from '../src/embedded-postgres';
import { APP_ROLE } from '../src/embedded-postgres/data-folder';
import { admitAllRoles, superuserUrl } from '../test/support/superuser';

const execute = promisify(execFile);

/** A limit that no load reaches: the counting is measured, not the rejection. */
export const UNLIMITED = 1_000_000_000;

/** A durable PostgreSQL for the measurement, in a folder that is removed at the end. */
export interface World {
  readonly postmaster: number;
  readonly url: string;
  /** @returns the URL of the new database */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startEmbedded({ dataDir });
  const client = new Client({ connectionString: await admitAllRoles(postgres) });
  client.on('error', () => undefined);
  await client.connect();
  return {
    postmaster: Number.parseInt(readFileSync(join(postgres.directory, 'pg18', 'postmaster.pid'), 'utf8'), 10),
    url: postgres.url(),
    createDatabase: async (name) => {
      await client.query(`CREATE DATABASE ${name} OWNER ${APP_ROLE}`);
      return postgres.url(name);
    },
    stop: async () => {
      await client.end();
      await postgres.stop();
    },
  };
}

/** Runs maintenance that would otherwise run during a later load. */
export async function tidyUp(url: string): Promise<void> {
  const client = new Client({ connectionString: superuserUrl(url) });
  await client.connect();
  await client.query('VACUUM ANALYZE pets');
  await client.query('CHECKPOINT');
  await client.end();
}

/** The folder of a build. An earlier one may not know the schema of this one, so each has a database of its own. */
export type Build = 'dist' | 'dist-previous';

/** Runs a command of a built command line. @returns its output */
async function runCli(build: Build, databaseUrl: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const cli = join(__dirname, '..', build, 'cli', 'main.js');
  const { stdout } = await execute(process.execPath, [cli, ...args], { env });
  return stdout.trim();
}

/** Adds the same animals in every run. @returns the output of `seed` */
export function seedPets(databaseUrl: string, count: number, build: Build = 'dist'): Promise<string> {
  return runCli(build, databaseUrl, 'seed', '--pets', String(count), '--random-seed', 'bench');
}

/** Creates a key of a new Enterprise account. */
export async function createKey(
  databaseUrl: string,
  account: string,
  limit: number,
  build: Build = 'dist',
): Promise<string> {
  const plan = `--account ${account} --plan enterprise --per-minute ${limit} --per-day ${limit}`;
  const printed = await runCli(build, databaseUrl, 'keys', 'create', ...plan.split(' '), '--json');
  return (JSON.parse(printed) as { key: string }).key;
}
