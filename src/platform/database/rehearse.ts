import type { EntitySubscriberInterface, QueryRunner } from 'typeorm';
import {
  assignRecords,
  explainFailure,
  insertRecord,
  type MigrationStatement,
  readApplied,
} from './extension-migrations';
import type { SchemaMigration } from './migration-transaction';
import { UserError } from '../errors/user-error';

/**
 * Reverts and applies again each extension's migration without a record, and records the statements. A savepoint
 * keeps the data. So every `down` has worked once before it is needed.
 *
 * @throws UserError that names the migration whose `down` fails, is empty or is not complete
 */
export async function recordExtensionMigrations(
  runner: QueryRunner,
  migrations: readonly SchemaMigration[],
): Promise<void> {
  const extended = migrations.filter(({ extension }) => extension !== undefined);
  if (extended.length === 0) return;
  await assignRecords(runner, extended);
  const unrecorded = (await readApplied(runner))
    .filter(({ record }) => record === null)
    .flatMap(({ name }) => extended.filter((each) => each.name === name));
  if (unrecorded.length === 0) return;
  const ups = new Map<string, MigrationStatement[]>();
  const downs = new Map<string, MigrationStatement[]>();
  await runner.query('SAVEPOINT rehearsal');
  // Checks the rows that "up" added with deferred constraints. A table with unchecked rows cannot be dropped.
  await runner.query('SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED');
  for (const each of unrecorded.toReversed()) downs.set(each.name, await rehearseDown(runner, each));
  for (const each of unrecorded) ups.set(each.name, await rehearseUp(runner, each));
  await runner.query('ROLLBACK TO SAVEPOINT rehearsal');
  for (const { name, extension = '' } of unrecorded) {
    await insertRecord(runner, { name, extension, up: ups.get(name) ?? [], down: downs.get(name) ?? [] });
  }
}

async function rehearseDown(
  runner: QueryRunner,
  { name, extension, create }: SchemaMigration,
): Promise<MigrationStatement[]> {
  const statements = await explainFailure(
    (reason) =>
      `The "down" of the migration ${name} of the extension ${extension} fails (${reason}). Fix it and start again.`,
    () => recordStatements(runner, () => new create().down(runner)),
  );
  if (statements.length > 0) return statements;
  throw new UserError(
    `The "down" of the migration ${name} of the extension ${extension} is empty. Write one that reverts its "up", and start again.`,
  );
}

function rehearseUp(
  runner: QueryRunner,
  { name, extension, create }: SchemaMigration,
): Promise<MigrationStatement[]> {
  return explainFailure(
    (reason) =>
      `The "down" of the migration ${name} of the extension ${extension} is not complete: after it, "up" fails (${reason}). Fix it and start again.`,
    () => recordStatements(runner, () => new create().up(runner)),
  );
}

/** Returns the statements that `work` runs, also those of a query builder or of TypeORM's table functions. */
async function recordStatements(
  { dataSource }: QueryRunner,
  work: () => Promise<unknown>,
): Promise<MigrationStatement[]> {
  const statements: MigrationStatement[] = [];
  const recorder: EntitySubscriberInterface = {
    beforeQuery: ({ query: text, parameters }) => {
      statements.push(Array.isArray(parameters) ? { text, parameters: parameters.map(toJson) } : { text });
    },
  };
  dataSource.subscribers.push(recorder);
  try {
    await work();
  } finally {
    dataSource.subscribers.pop();
  }
  return statements;
}

/** Converts a parameter to JSON that PostgreSQL reads as the same value. */
function toJson(parameter: unknown): unknown {
  if (typeof parameter === 'bigint') return String(parameter);
  return Buffer.isBuffer(parameter) ? `\\x${parameter.toString('hex')}` : parameter;
}
