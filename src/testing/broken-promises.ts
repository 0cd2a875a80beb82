import { createStore } from '../app/store';
import { userMessage } from '../app/user-message';
import { readConfig } from '../platform/config/config';
import { migrate, relationsOf, revert } from '../platform/database/migrate';
import { Api } from './api';
import { FIRST_ACCOUNT } from './promises/access.promises';
import { checkPromises } from './promises/promises';
import { readDocument, type TestStore } from './test-store';

/**
 * Holds every operation of a store's OpenAPI document against the promises of the store, and runs the migrations of its
 * extensions in both directions. It creates resources from the documented examples and breaks commits on purpose, so
 * give each test a new store.
 *
 * @param options.paths only the operations below these paths, such as `/kennels`; default: all, including the store's own
 * @returns a sentence for each broken promise and for each operation that could not be checked, in the order of the
 * checks; an empty list says that every operation was checked
 */
export async function brokenPromises(
  store: TestStore,
  { paths = [''] }: { readonly paths?: readonly string[] } = {},
): Promise<string[]> {
  const document = await readDocument(store.url);
  await store.key({ account: FIRST_ACCOUNT });
  const api = new Api(document, store, await store.key(), paths);
  await checkPromises(api);
  for (const { title } of api.operations.filter((each) => !api.succeeded.has(each))) {
    api.note(title, 'was not checked, because it never succeeds. Give examples that a new store accepts');
  }
  const unchecked = paths
    .filter((each) => !api.operations.some(({ path }) => `${path}/`.startsWith(`${each}/`)))
    .map((each) => `No operation of the store is below the path ${each}.`);
  return [...unchecked, ...api.faults, ...(await brokenMigrations(store))];
}

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
    if (left.length > 0)
      return [`The "down" of a migration leaves ${left.join(', ')}. Drop what its "up" creates.`];
    fault = 'The "down" of a migration does not take back what its "up" did.';
    await migrate(config);
    return [];
  } catch (error) {
    return [`${fault} ${userMessage(error)}`];
  } finally {
    await database.drop();
  }
}
