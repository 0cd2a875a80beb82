import { Migration } from 'typeorm';
import { recordSchemaAudit } from './audit';
import { deleteMigration, explainFailure, readApplied, runRecorded } from './extension-migrations';
import { inMigrationTransaction, type SchemaConfig } from './migration-transaction';
import { compareSchema, rejectNewerSchema } from './schema-state';
import { UserError } from '../errors/user-error';

/** Reverts the last migration. @returns its name, or undefined if none is left */
export function revertLast(config: SchemaConfig): Promise<string | undefined> {
  return inMigrationTransaction(config, async (executor, runner) => {
    const applied = await readApplied(runner);
    rejectNewerSchema(compareSchema(applied, config.migrations));
    const last = applied.at(-1);
    if (!last) return undefined;
    const { name, record } = last;
    const migration = config.migrations.find((each) => each.name === name);
    if (!migration) {
      throw new UserError(
        `The last migration, ${name}, belongs to the removed extension ${record?.extension}. Run "db forget ${record?.extension}" to revert all its migrations.`,
      );
    }
    const { extension, timestamp, create } = migration;
    const revert = () => new create().down(runner);
    if (extension === undefined) {
      await revert();
      await executor.deleteMigration(new Migration(undefined, timestamp, name));
    } else {
      await explainFailure(
        (reason) =>
          `The "down" of the migration ${name} of the extension ${extension} fails (${reason}). Nothing was changed. Fix it and repeat the command.`,
        revert,
      );
      await deleteMigration(runner, name);
    }
    await recordSchemaAudit(runner, { command: 'db revert', details: name });
    return name;
  });
}

/**
 * Reverts all migrations of an extension, the last one first, in one transaction. Needs no code of the extension.
 *
 * @returns their names, in the order of their reversal
 * @throws UserError if the database has none of them
 */
export function forgetExtension(config: SchemaConfig, extension: string): Promise<string[]> {
  return inMigrationTransaction(config, async (_executor, runner) => {
    const applied = await readApplied(runner);
    const states = compareSchema(applied, config.migrations);
    // A newer version of the store may have changed the records.
    rejectNewerSchema(states.filter((each) => each.extension === undefined));
    const records = applied
      .toReversed()
      .flatMap(({ record }) => (record?.extension === extension ? [record] : []));
    if (records.length === 0) {
      throw new UserError(
        `The database has no migrations of an extension ${extension}. "db status" shows the name of each extension.`,
      );
    }
    for (const record of records) {
      await runRecorded(runner, record, 'down');
      await deleteMigration(runner, record.name);
    }
    await recordSchemaAudit(runner, { command: 'db forget', details: extension });
    return records.map(({ name }) => name);
  });
}
