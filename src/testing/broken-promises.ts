import { createStore } from '../app/store';
import { userMessage } from '../app/user-message';
import { readConfig } from '../platform/config/config';
import { migrate, relationsOf, revert } from '../platform/database/migrate';
import { Api, isCreation } from './api';
import type { Operation } from './api-document';
import { checkValues } from './hostile-values';
import { PROMISES } from './promises';
import { readDocument, type TestStore } from './test-store';

/**
 * Holds the operations of a store against its promises, and runs the migrations of its extensions in both directions.
 * It creates and removes resources, so give each test a new store.
 *
 * @param options.paths only the operations below these paths, such as `/kennels`; default: all, including the store's own
 * @returns a sentence for each broken promise and for each operation that never succeeds
 */
export async function brokenPromises(
  store: TestStore,
  { paths = [''] }: { readonly paths?: readonly string[] } = {},
): Promise<string[]> {
  const document = await readDocument(store.url);
  const api = new Api(document, store, await store.key());
  const operations = document.operations.filter((each) => paths.some((path) => isBelow(path, each)));
  const creations = operations.filter(isCreation);
  // A page of two then has a next one.
  for (const operation of [...creations, ...creations, ...creations]) await api.create(operation);
  // Later ones send more requests, and change or remove more.
  for (const check of [...Object.values(PROMISES), checkValues]) {
    for (const operation of operations) await check(api, operation);
  }
  for (const operation of operations.filter((each) => !api.succeeded.has(each))) {
    api.note(operation, 'was not checked, because it never succeeds. Give examples that a new store accepts');
  }
  const unchecked = paths.filter((path) => !operations.some((each) => isBelow(path, each)));
  const sentences = unchecked.map((path) => `No operation of the store is below the path ${path}.`);
  return [...sentences, ...api.faults.values(), ...(await brokenMigrations(store))];
}

const isBelow = (path: string, operation: Operation) => `${operation.path}/`.startsWith(`${path}/`);

/** Applies, reverts and applies again the migrations of the extensions, in a database of their own. */
async function brokenMigrations(store: TestStore): Promise<string[]> {
  const { migrations, settings } = createStore(store.extensions);
  const names = new Set(migrations.flatMap(({ extension }) => extension ?? []));
  if (names.size === 0) return [];
  const database = await store.createDatabase();
  const config = { ...readConfig({}, settings), databaseUrl: database.url, migrations };
  let fault = 'The migrations cannot be applied.';
  try {
    await migrate({ ...config, migrations: migrations.filter(({ extension }) => extension === undefined) });
    const before = await relationsOf(config);
    await migrate(config);
    fault = 'The "down" of a migration fails.';
    for (const name of [...names].toReversed()) await revert(config, name);
    const left = (await relationsOf(config)).filter((name) => !before.includes(name));
    fault = `The "down" of a migration leaves ${left.join(', ') || 'a part of what its "up" did'}.`;
    if (left.length === 0) await migrate(config);
    return left.length === 0 ? [] : [fault];
  } catch (error) {
    return [`${fault} ${userMessage(error)}`];
  } finally {
    await database.drop();
  }
}
