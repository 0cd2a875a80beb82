import type { QueryRunner } from 'typeorm';
import { createStore } from '../../../src/app/store';
import type { SchemaConfig } from '../../../src/platform/database/migrate';
import type { Extension, MigrationClass } from '../../../src/platform/extension/extension';
import { schemaConfig } from '../../support/schema-config';

type Step = string | ((runner: QueryRunner) => Promise<unknown>);

/** Returns a migration class of this name that runs SQL or code. */
export function migrationOf(name: string, up: Step, down: Step): MigrationClass {
  const run = async (runner: QueryRunner, step: Step): Promise<void> => {
    await (typeof step === 'string' ? runner.query(step) : step(runner));
  };
  return {
    [name]: class {
      up = (runner: QueryRunner) => run(runner, up);
      down = (runner: QueryRunner) => run(runner, down);
    },
  }[name]!;
}

/** Returns an extension with these migrations. */
export function extensionOf(name: string, ...migrations: MigrationClass[]): Extension {
  return { name, migrations };
}

/** Returns the configuration of `migrate` for a program with these extensions. */
export function configWith(databaseUrl: string, ...extensions: Extension[]): SchemaConfig {
  return { ...schemaConfig(databaseUrl), migrations: createStore(extensions).migrations };
}
