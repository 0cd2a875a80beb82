import { DataSource, type QueryRunner } from 'typeorm';
import { createStore } from '../../app/store';
import { readConfig } from '../../platform/config/config';
import { dataSourceOptions } from '../../platform/database/data-source';
import { migrate } from '../../platform/database/migrate';
import type { SchemaMigration } from '../../platform/database/migration-transaction';
import type { Probe } from './probe';
import { describeSchema } from './schema.repository';

type Schema = readonly string[];

/** Runs the migrations of the extensions up, down and up again, in a database of their own. */
export async function checkMigrations(probe: Probe): Promise<void> {
  const { store } = probe;
  const { migrations } = createStore(store.extensions);
  const added = migrations.filter(({ extension }) => extension !== undefined);
  if (added.length === 0) return;
  const database = await store.createDatabase();
  try {
    const config = { ...readConfig({}), databaseUrl: database.url };
    await migrate({ ...config, migrations: migrations.filter((each) => !added.includes(each)) });
    const source = await new DataSource(dataSourceOptions(config)).initialize();
    try {
      await checkEach(probe, source.createQueryRunner(), added);
    } finally {
      await source.destroy();
    }
  } finally {
    await database.drop();
  }
}

/** Each migration is checked on the schema that the earlier ones leave. */
async function checkEach(
  probe: Probe,
  runner: QueryRunner,
  migrations: readonly SchemaMigration[],
): Promise<void> {
  for (const migration of migrations) {
    const subject = `The migration ${migration.name}`;
    const before = await describeSchema(runner);
    if (!(await run(probe, subject, runner, migration, 'up'))) return;
    const after = await describeSchema(runner);
    if (!(await run(probe, subject, runner, migration, 'down'))) continue;
    const reverted = await describeSchema(runner);
    noteDifferences(probe, `${subject}: down`, before, reverted);
    if (!(await run(probe, subject, runner, migration, 'up', ' a second time'))) continue;
    noteDifferences(probe, `${subject}: up, a second time,`, after, await describeSchema(runner));
  }
}

/** Runs one direction in a transaction. @returns false if it fails */
async function run(
  probe: Probe,
  subject: string,
  runner: QueryRunner,
  { create }: SchemaMigration,
  direction: 'up' | 'down',
  time = '',
): Promise<boolean> {
  await runner.startTransaction();
  try {
    await new create()[direction](runner);
    await runner.commitTransaction();
    return true;
  } catch (error) {
    await runner.rollbackTransaction();
    probe.note(
      subject,
      `fails in ${direction}${time}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return false;
  }
}

function noteDifferences(probe: Probe, subject: string, wanted: Schema, got: Schema): void {
  const left = got.filter((line) => !wanted.includes(line));
  const lost = wanted.filter((line) => !got.includes(line));
  if (left.length > 0) probe.note(subject, `leaves ${objects(left)}`);
  if (lost.length > 0) probe.note(subject, `removes ${objects(lost)}`);
}

/** A table stands for its columns, constraints and indexes. */
function objects(lines: Schema): string {
  const tables = lines.filter((line) => line.startsWith('table '));
  return (tables.length > 0 ? tables : lines).join(', ');
}
