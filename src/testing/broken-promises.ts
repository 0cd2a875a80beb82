import { DataSource } from 'typeorm';
import { createStore } from '../app/store';
import { userMessage } from '../app/user-message';
import { readConfig } from '../platform/config/config';
import { migrate, revert } from '../platform/database/migrate';
import { Api } from './api';
import { ApiDocument } from './api-document';
import { HttpClient } from './http-client';
import { jsonIn, textOf, valueAt } from './json';
import { checkPromises } from './promises/promises';
import { Resources } from './resources';
import type { TestStore } from './test-store';

/**
 * Holds every operation of a store's OpenAPI document against the promises of the store, and runs the migrations of its
 * extensions in both directions. It creates resources from the
 * documented examples and breaks commits on purpose, so give each test a new store.
 *
 * @param options.paths only the operations below these paths, such as `/kennels`; default: all, those of the store included
 * @returns a sentence for each broken promise and for each operation that could not be checked, in the order of the
 * checks; an empty list says that every operation was checked
 */
export async function brokenPromises(
  store: TestStore,
  { paths }: { readonly paths?: readonly string[] } = {},
): Promise<string[]> {
  const client = new HttpClient();
  try {
    const { text } = await client.send(store.url, '/openapi.json');
    const api = new Api(
      new ApiDocument(text),
      {
        send: (path, request) => client.send(store.url, `/v1${path}`, request),
        wait: async (seconds) => store.clock.advance({ seconds }),
        now: () => store.clock.now() / 1_000,
        newKey: (options) => store.key(options),
        scopes: store.scopes,
        lastError: () =>
          textOf(valueAt(jsonIn(store.log.at(-1) ?? ''), 'err', 'message') ?? 'the log has no cause'),
        query: (statement) => store.app.get(DataSource, { strict: false }).query(statement),
      },
      await store.key(),
      store.scopes,
      paths,
    );
    await checkPromises(api, new Resources(api));
    for (const operation of api.operations.filter((each) => !api.succeeded.has(each))) {
      api.note(
        operation.title,
        'was not checked, because it never succeeds. Give examples that a new store accepts',
      );
    }
    return [...api.faults, ...(await brokenMigrations(store))];
  } finally {
    client.close();
  }
}

/** Applies, reverts and applies again the migrations of the extensions, in a database of their own. */
async function brokenMigrations(store: TestStore): Promise<string[]> {
  const { migrations, settings } = createStore(store.extensions);
  const names = new Set(migrations.flatMap(({ extension }) => extension ?? []));
  if (names.size === 0) return [];
  const database = await store.createDatabase();
  const config = { ...readConfig({}, settings), databaseUrl: database.url, migrations };
  try {
    await migrate(config);
    for (const name of [...names].toReversed()) await revert(config, name);
    await migrate(config);
    return [];
  } catch (error) {
    return [`The migrations cannot be applied, reverted and applied again. ${userMessage(error)}`];
  } finally {
    await database.drop();
  }
}
