import type { QueryRunner } from 'typeorm';
import { createStore } from '../../../src/app/store';
import type { SchemaConfig } from '../../../src/database/migrate';
import type { Extension } from '../../../src/api/extension/extension';
import { schemaConfig } from '../../support/schema-config';

type MigrationClass = Required<Extension>['migrations'][number];

/** Returns a migration class of this name that runs SQL. */
export function migrationOf(name: string, up: string, down: string): MigrationClass {
  return {
    [name]: class {
      /** The source of a migration contains its SQL. */
      static toString = () => JSON.stringify({ up, down });
      up = (runner: QueryRunner) => runner.query(up);
      down = (runner: QueryRunner) => runner.query(down);
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
