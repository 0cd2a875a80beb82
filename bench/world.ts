import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbedded } from '../src/embedded-postgres';
import { APP_ROLE } from '../src/embedded-postgres/data-folder';
import { once } from '../test/support/once';
import { admitAllRoles, superuserUrl } from '../test/support/superuser';
import type { Store } from './loads';

const execute = promisify(execFile);

/** A limit that no load reaches: the counting is measured, not the rejection. */
export const UNLIMITED = 1_000_000_000;
/** Animals that orders are of. They are spread over the table. */
const ORDERED_PETS = 10_000;

/** A durable PostgreSQL for the measurement, in a folder that is removed at the end. */
export interface World {
  readonly postmaster: number;
  readonly url: string;
  /** @returns the URL of the new database */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** @param hasStatistics true to count all statements, also those of triggers, by pg_stat_statements */
export async function createWorld(hasStatistics: boolean): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), 'animal-store-bench-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  let postgres = await startEmbedded({ dataDir });
  const superuser = await admitAllRoles(postgres);
  if (hasStatistics) {
    await once(superuser, `ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`);
    await postgres.stop();
    postgres = await startEmbedded({ dataDir });
    await once(superuser, 'CREATE EXTENSION pg_stat_statements');
    await once(superuser, `ALTER ROLE ${APP_ROLE} SET pg_stat_statements.track = 'all'`);
  }
  return {
    postmaster: Number.parseInt(readFileSync(join(postgres.directory, 'pg18', 'postmaster.pid'), 'utf8'), 10),
    url: postgres.url(),
    createDatabase: async (name) => {
      await once(superuser, `CREATE DATABASE ${name} OWNER ${APP_ROLE}`);
      return postgres.url(name);
    },
    stop: postgres.stop,
  };
}

/** Runs maintenance that would otherwise run during a later load. */
export async function tidyUp(url: string): Promise<void> {
  const superuser = superuserUrl(url);
  for (const table of ['pets', 'store_orders', 'events']) await once(superuser, `VACUUM ANALYZE ${table}`);
  await once(superuser, 'CHECKPOINT');
}

/** The folder of a build. An earlier one may not know the schema of this one, so each has a database of its own. */
export type Build = 'dist' | 'dist-previous';

const FORMER_ORDERS = `
  INSERT INTO store_orders (account_id, pet_id, status, placed_at, updated_at)
  SELECT (SELECT min(id) FROM accounts), id, 'cancelled', now(), now() FROM pets ORDER BY id LIMIT 10000`;

/** Adds the same animals in every run, two keys, and some events. */
export async function fill(url: string, pets: number, build: Build = 'dist'): Promise<Store> {
  await seedPets(url, pets, build);
  const key = await createKey(url, 'bench', UNLIMITED, build);
  const exhaustedKey = await createKey(url, 'exhausted', 1, build);
  const isOrdered = `id % ${Math.ceil(pets / ORDERED_PETS)} = 0`;
  const renamed = `SET status = 'available', name = name || ' II' WHERE ${isOrdered} RETURNING id`;
  const availablePets = idsOf(await once(url, `UPDATE pets ${renamed}`));
  // Plans of an empty table would serve until its first statistics.
  await once(url, FORMER_ORDERS);
  await tidyUp(url);
  return {
    url,
    pets,
    key,
    exhaustedKey,
    availablePets,
    events: idsOf(await once(url, 'SELECT id FROM events')),
  };
}

const idsOf = (rows: readonly { id?: string }[]): string[] => rows.map(({ id = '' }) => id);

export async function seedPets(url: string, count: number, build: Build = 'dist'): Promise<void> {
  await runCli(build, url, 'seed', '--pets', String(count), '--random-seed', 'bench');
}

/** Creates a key of a new Enterprise account. */
async function createKey(url: string, account: string, limit: number, build: Build): Promise<string> {
  const plan = `--account ${account} --plan enterprise --per-minute ${limit} --per-day ${limit}`;
  const printed = await runCli(build, url, 'keys', 'create', ...plan.split(' '), '--json');
  return (JSON.parse(printed) as { key: string }).key;
}

/** Runs a command of a built command line. @returns its output */
async function runCli(build: Build, databaseUrl: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const cli = join(__dirname, '..', build, 'cli', 'main.js');
  const { stdout } = await execute(process.execPath, [cli, ...args], { env });
  return stdout.trim();
}
