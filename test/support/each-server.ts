import { spawnSync } from 'node:child_process';
import { chownSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type QueryResultRow } from 'pg';
import { chooseServerUser } from '../../src/embedded-postgres/programs';
import { migrate } from '../../src/platform/database/migrate';
import { createDatabase, type TestDatabase } from './database';
import { describeWhen } from './it-when';
import { schemaConfig } from './schema-config';
import { dataFolder } from './service';

type QueriedDatabase = Pick<TestDatabase, 'drop' | 'query'>;

/** The folder of Debian's package. */
export const OLD_SERVER_BIN = '/usr/lib/postgresql/15/bin';
export const HINT = 'PostgreSQL 15 is not installed (Debian: apt-get install postgresql-15)';

/**
 * Declares specs for the server of the run and for PostgreSQL 15, the oldest one that the service supports. Without the
 * latter they are skipped, or fail with `CI=true`.
 */
export function describeOnEachServer(
  name: string,
  specs: (create: () => Promise<QueriedDatabase>) => void,
): void {
  describe(name, () => specs(createDatabase));
  const isNeeded = existsSync(OLD_SERVER_BIN) || process.env['CI'] === 'true';
  describeWhen(isNeeded, HINT)(`${name} of PostgreSQL 15`, () => specs(createOldDatabase));
}

/** Starts a server of its own with a migrated database. `drop` deletes both. */
async function createOldDatabase(): Promise<QueriedDatabase> {
  if (!existsSync(OLD_SERVER_BIN)) throw new Error(HINT);
  const folder = dataFolder();
  const { uid, gid } = chooseServerUser() ?? {};
  if (uid !== undefined && gid !== undefined) chownSync(folder.path, uid, gid);
  const cluster = join(folder.path, 'pg15');
  const run = (program: string, ...args: string[]) => {
    const options = { cwd: '/', stdio: 'ignore', uid, gid } as const;
    const { status } = spawnSync(join(OLD_SERVER_BIN, program), ['-D', cluster, ...args], options);
    if (status !== 0) throw new Error(`${program} of PostgreSQL 15 failed in ${cluster}`);
  };
  run('initdb', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N');
  const settings = `-k ${folder.path} -c listen_addresses= -c autovacuum=off -F`;
  run('pg_ctl', 'start', '-w', '-l', `${cluster}.log`, '-o', settings);
  const url = `postgresql://postgres@localhost/postgres?host=${folder.path}`;
  const client = new Client({ connectionString: url });
  // Before the migration, which bounds the statements of later sessions.
  await client.connect();
  await migrate(schemaConfig(url));
  return {
    query: async <Row extends QueryResultRow>(text: string, parameters: unknown[] = []) =>
      (await client.query<Row>(text, parameters)).rows,
    drop: async () => {
      await client.end();
      run('pg_ctl', 'stop', '-w', '-m', 'immediate');
      folder.remove();
    },
  };
}

/** A scan that may read any number of rows for one that it returns. */
export const UNBOUNDED =
  /Seq Scan","[^{}]*"Relation Name":"(?!event_log)|Bitmap|"Relation Name"[^{}]*"Filter"/;

/** Runs a statement, planned for its values. @returns the number of buffers that it read */
export async function buffersOf(
  { query }: QueriedDatabase,
  statement: string,
  parameters: unknown[] = [],
): Promise<number> {
  const rows = await query<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE, BUFFERS) ${statement}`, parameters);
  // The first line of buffers is that of the whole statement.
  const line = rows.map((row) => row['QUERY PLAN']).find((each) => each.includes('Buffers:'))!;
  return [...line.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}
