import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config';
import { CORE_MIGRATIONS } from '../database/migrations/core.migrations';
import { type Extension, type ExtensionModule, extensionOf } from '../api/extension/extension';
import { AdministrationModule, OwnKeyModule } from '../auth';
import { eventScopes, EventsModule } from '../events';
import { mcpExtension } from '../mcp';
import { petScopes, PetsModule } from '../pets';
import { orderScopes, StoreOrdersModule } from '../store-orders';
import { UsageRecordingModule } from '../usage';
import { WebhooksModule } from '../webhooks';
import { checkExtensions } from './extension-checks';

/** The extensions that every store has. */
export const OWN_EXTENSIONS = [
  OwnKeyModule,
  mcpExtension,
  PetsModule,
  StoreOrdersModule,
  EventsModule,
  WebhooksModule,
  UsageRecordingModule,
  AdministrationModule,
].map(extensionOf);

/** The scopes of a new key, unless its creator names others. */
export const DEFAULT_SCOPES: Required<Extension>['scopes'] = [
  petScopes.read,
  petScopes.write,
  orderScopes.read,
  orderScopes.write,
  eventScopes.read,
];

export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8'),
);

/** All that the extensions of a service bring, in their order. */
export type Store = ReturnType<typeof createStore>;

/** Combines the store's own extensions with a team's. @throws UserError */
export function createStore(given: readonly ExtensionModule[] = []) {
  const added = given.map(extensionOf);
  checkExtensions(OWN_EXTENSIONS, added, version);
  const extensions = [...OWN_EXTENSIONS, ...added];
  return {
    isExtended: added.length > 0,
    /** The modules that the settings choose. */
    modules: (config: Config) =>
      extensions.flatMap(({ modules = [] }) =>
        typeof modules === 'function' ? modules({ ...config }) : modules,
      ),
    /** In the order in which they run: the store's, then a team's, each by the timestamps (ms) in their names. */
    migrations: [
      ...byTime(named([...CORE_MIGRATIONS, ...OWN_EXTENSIONS.flatMap((each) => each.migrations ?? [])])),
      ...byTime(added.flatMap(({ name, migrations = [] }) => named(migrations, name))),
    ],
    scopes: extensions.flatMap((each) => each.scopes ?? []),
    tags: merge(extensions.map((each) => each.tags)),
    events: merge(extensions.map((each) => each.events)),
    /** The codes of every operation besides the common ones. */
    errors: extensions.flatMap((each) => each.errors ?? []),
    settings: merge(extensions.map((each) => each.settings)),
  };
}

function named(classes: Required<Extension>['migrations'], extension?: string) {
  return classes.map((create) => {
    const { name } = create;
    return { name, timestamp: Number(name.slice(-13)), extension, create };
  });
}

function byTime(migrations: ReturnType<typeof named>) {
  return migrations.toSorted((one, other) => one.timestamp - other.timestamp);
}

function merge<T>(
  records: readonly (Readonly<Record<string, T>> | undefined)[],
): Readonly<Record<string, T>> {
  return Object.assign({}, ...records);
}
