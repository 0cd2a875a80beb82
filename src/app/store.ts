import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, Settings } from '../config/config';
import { coreMigrations } from '../database/migrations/core.migrations';
import { type SchemaMigration, timestampOf } from '../database/migrate';
import type { DefinedError } from '../api/errors/api-error';
import {
  type DefinedScope,
  type EventTypes,
  type Extension,
  type ExtensionModule,
  extensionOf,
  type MigrationClass,
  type Modules,
  StoreScopes,
} from '../api/extension/extension';
import { AdministrationModule } from '../auth';
import { eventScopes, EventsModule } from '../events';
import { KeyModule } from '../auth';
import { mcpExtension } from '../mcp';
import { petScopes, PetsModule } from '../pets';
import { orderScopes, StoreOrdersModule } from '../store-orders';
import { UsageRecordingModule } from '../usage';
import { WebhooksModule } from '../webhooks';
import { checkExtensions } from './extension-checks';

/** The extensions that every store has. */
export const OWN_EXTENSIONS = [
  KeyModule,
  mcpExtension,
  PetsModule,
  StoreOrdersModule,
  EventsModule,
  WebhooksModule,
  UsageRecordingModule,
  AdministrationModule,
].map(extensionOf);

/** The scopes of a new key, unless its creator names others. */
export const DEFAULT_SCOPES: readonly DefinedScope[] = [
  petScopes.read,
  petScopes.write,
  orderScopes.read,
  orderScopes.write,
  eventScopes.read,
];

export function scopesOf({ scopes }: Pick<Store, 'scopes'>): StoreScopes {
  return new StoreScopes(scopes, DEFAULT_SCOPES);
}

export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8'),
);

/** All that the extensions of a service bring, in their order. */
export interface Store {
  readonly added: readonly Extension[];
  /** The modules that the settings choose: those of the store's own extensions, then a team's. */
  modules(config: Config): Modules;
  /** In the order in which they run: the store's, then a team's, each by the timestamps in their names. */
  readonly migrations: readonly SchemaMigration[];
  readonly scopes: readonly DefinedScope[];
  readonly tags: Readonly<Record<string, string>>;
  readonly events: EventTypes;
  /** The codes of every operation besides the common ones. */
  readonly errors: readonly DefinedError[];
  readonly settings: Settings;
}

/** Combines the store's own extensions with a team's. @throws UserError */
export function createStore(given: readonly ExtensionModule[] = []): Store {
  const added = given.map(extensionOf);
  checkExtensions(OWN_EXTENSIONS, added, version);
  const extensions = [...OWN_EXTENSIONS, ...added];
  const own = [...coreMigrations, ...OWN_EXTENSIONS.flatMap((each) => each.migrations ?? [])];
  return {
    added,
    modules: (config) =>
      extensions.flatMap(({ modules = [] }) =>
        typeof modules === 'function' ? modules({ ...config }) : modules,
      ),
    migrations: [named(own), added.flatMap(({ name, migrations = [] }) => named(migrations, name))].flatMap(
      (each) => each.toSorted((one, other) => timestampOf(one) - timestampOf(other)),
    ),
    scopes: extensions.flatMap((each) => each.scopes ?? []),
    tags: Object.assign({}, ...extensions.map((each) => each.tags)),
    events: Object.assign({}, ...extensions.map((each) => each.events)),
    errors: extensions.flatMap((each) => each.errors ?? []),
    settings: Object.assign({}, ...extensions.map((each) => each.settings)),
  };
}

function named(classes: readonly MigrationClass[], extension?: string): SchemaMigration[] {
  return classes.map((create) => ({ name: create.name, extension, create }));
}
