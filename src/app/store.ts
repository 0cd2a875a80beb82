import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DynamicModule, Type } from '@nestjs/common';
import { satisfies } from 'semver';
import { settings as ownSettings } from '../platform/config/settings';
import type { Config, Settings } from '../platform/config/config';
import { coreMigrations } from '../platform/database/migrations/platform.migrations';
import type { SchemaMigration } from '../platform/database/migrate';
import type { DefinedError } from '../platform/errors/define-errors';
import { UserError } from '../platform/errors/user-error';
import type { DefinedScope } from '../platform/extension/define-scopes';
import type { Extension, MigrationClass } from '../platform/extension/extension';
import { keyExtension } from '../key';
import { mcpExtension } from '../mcp';
import { petScopes, petsExtension } from '../pets';
import { orderScopes, storeOrdersExtension } from '../store-orders';

/** The extensions that every store has. */
const OWN_EXTENSIONS = [keyExtension, mcpExtension, petsExtension, storeOrdersExtension];

/** The scopes of a new key, unless its creator names others. */
export const DEFAULT_SCOPES: readonly DefinedScope[] = [
  petScopes.read,
  petScopes.write,
  orderScopes.read,
  orderScopes.write,
];

/** The version of this package. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8'),
);

/** The scopes of an extension begin with its name. */
const NAME = /^[a-z][a-z0-9-]*$/;

/** A scope-token of RFC 6749, section 3.3, without the comma of `--scopes`. */
const SCOPE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

/** An extension with the modules that the settings choose. */
export interface ChosenExtension extends Extension {
  readonly modules: readonly (Type | DynamicModule)[];
}

/** All that the extensions of a service bring, in their order. */
export interface Store {
  /** The store's own extensions, then those of a team, with the modules that the settings choose. */
  extensions(config: Config): ChosenExtension[];
  /** In the order in which they run: those of the store, then those of a team, each by the timestamps in their names. */
  readonly migrations: readonly SchemaMigration[];
  readonly scopes: readonly DefinedScope[];
  /** The codes of every operation, in addition to those of the platform. */
  readonly errors: readonly DefinedError[];
  /** The settings of extensions. */
  readonly settings: Settings;
}

/**
 * Combines the store's own extensions with those of a team.
 *
 * @throws UserError that names every mistake
 */
export function createStore(added: readonly Extension[] = []): Store {
  const extensions = [...OWN_EXTENSIONS, ...added];
  const own = [...coreMigrations, ...OWN_EXTENSIONS.flatMap((each) => each.migrations ?? [])];
  const migrations = [
    ...toSchema(own, undefined),
    ...added.flatMap((each) => toSchema(each.migrations ?? [], each.name)).toSorted(byTime),
  ];
  const tags = extensions.flatMap((each) => Object.entries(each.tags ?? {}));
  const settings = extensions.flatMap((each) => Object.entries(each.settings ?? {}));
  const allSettings = [...Object.entries(ownSettings), ...settings];
  const names = {
    extension: extensions.map(({ name }) => name),
    migration: migrations.map(({ name }) => name),
    tag: tags.map(([tag]) => tag),
    setting: allSettings.map(([name]) => name),
    variable: allSettings.map(([, { variable }]) => variable),
  };
  const problems = [
    ...extensions.flatMap(problemsOf),
    ...migrations
      .filter(({ timestamp }) => Number.isNaN(timestamp))
      .map(({ name }) => `the name of the migration ${name} must end with a timestamp in milliseconds`),
    ...Object.entries(names).flatMap(([what, each]) => repeated(what, each)),
  ];
  if (problems.length > 0) {
    throw new UserError(`Invalid extensions: ${problems.join('; ')}. Fix them and start again.`);
  }
  return {
    extensions: (config) =>
      extensions.map(({ modules = [], ...facts }) => ({
        ...facts,
        modules: typeof modules === 'function' ? modules({ ...config }) : modules,
      })),
    migrations,
    scopes: extensions.flatMap((each) => each.scopes ?? []),
    errors: extensions.flatMap((each) => each.errors ?? []),
    settings: Object.fromEntries(settings),
  };
}

function problemsOf({ name, scopes = [], compatibility }: Extension): string[] {
  const invalid = scopes.filter((scope) => !scope.startsWith(`${name}:`) || !SCOPE.test(scope));
  return [
    ...(NAME.test(name) ? [] : [`the name ${name} must consist of lower-case letters, digits and dashes`]),
    ...invalid.map(
      (scope) =>
        `the scope ${scope} of ${name} must begin with "${name}:" and consist of visible ASCII characters without quotes, commas and backslashes`,
    ),
    ...repeated('scope', scopes),
    ...(compatibility === undefined ? [] : versionProblem(name, compatibility)),
  ];
}

/** A prerelease of a version in the range is in the range, so that an extension can be tried on it. */
function versionProblem(name: string, range: string): string[] {
  if (satisfies(version, range, { includePrerelease: true })) return [];
  return [
    `${name} works with animal-store ${range}, and this is ${version}: install a version of ${name} for it`,
  ];
}

/** Describes migrations of one owner, in their order. TypeORM, too, reads the timestamp from the name. */
function toSchema(classes: readonly MigrationClass[], extension: string | undefined): SchemaMigration[] {
  return classes
    .map((create) => ({
      name: create.name,
      timestamp: Number(/\d{13}$/.exec(create.name)?.[0]),
      extension,
      create,
    }))
    .toSorted(byTime);
}

function byTime(one: SchemaMigration, other: SchemaMigration): number {
  return one.timestamp - other.timestamp;
}

function repeated(what: string, names: readonly string[]): string[] {
  const twice = new Set(names.filter((name, at) => names.indexOf(name) < at));
  return [...twice].map((name) => `the ${what} ${name} is given twice`);
}
