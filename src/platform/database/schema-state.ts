import { type AppliedMigration, readApplied } from './extension-migrations';
import { inMigrationTransaction, type SchemaConfig } from './migration-transaction';
import { UserError } from '../errors/user-error';

/** How one migration of the program or of the database stands. */
export interface MigrationState {
  readonly name: string;
  readonly extension: string | undefined;
  /** `removed`: of an extension that this program does not have. `newer`: of a newer version of what it has. */
  readonly state: 'applied' | 'pending' | 'removed' | 'newer';
}

/** Lists the migrations of this program, then those that only the database has, each in order. */
export function migrationStates(config: SchemaConfig): Promise<MigrationState[]> {
  return inMigrationTransaction(config, async (_executor, runner) =>
    compareSchema(await readApplied(runner), config.migrations),
  );
}

/** Compares the migrations of the database with those of this program. */
export function compareSchema(
  applied: readonly AppliedMigration[],
  migrations: SchemaConfig['migrations'],
): MigrationState[] {
  const inDatabase = new Set(applied.map(({ name }) => name));
  const inProgram = new Set(migrations.map(({ name }) => name));
  const extensions = new Set(migrations.map(({ extension }) => extension));
  return [
    ...migrations.map(({ name, extension }): MigrationState => ({
      name,
      extension,
      state: inDatabase.has(name) ? 'applied' : 'pending',
    })),
    ...applied
      .filter(({ name }) => !inProgram.has(name))
      .map(({ name, record }): MigrationState => ({
        name,
        extension: record?.extension,
        state: record && !extensions.has(record.extension) ? 'removed' : 'newer',
      })),
  ];
}

/** Returns the first migration of a newer version, with the owner's name for a sentence. */
export function newerMigration(
  states: readonly MigrationState[],
): { readonly name: string; readonly owner: string } | undefined {
  const newer = states.find(({ state }) => state === 'newer');
  if (!newer) return undefined;
  const { name, extension } = newer;
  return { name, owner: extension === undefined ? 'Animal Store' : `the extension ${extension}` };
}

/** @throws UserError if a newer version of the store, or of an extension, has migrated the database */
export function rejectNewerSchema(states: readonly MigrationState[]): void {
  const newer = newerMigration(states);
  if (!newer) return;
  throw new UserError(
    `The database was migrated by a newer version of ${newer.owner} (${newer.name}). Install that version again, or run its "db revert" until this migration is reverted.`,
  );
}

/** Returns the extensions with tables in the database that this program does not have. */
export function removedExtensions(states: readonly MigrationState[]): string[] {
  const removed = states.flatMap(({ state, extension }) =>
    state === 'removed' && extension !== undefined ? [extension] : [],
  );
  return [...new Set(removed)];
}
