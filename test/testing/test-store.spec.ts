import { existsSync } from 'node:fs';
import { brokenPromises, startTestStore, type TestStore, type TestStoreOptions } from '../../src/testing';
import { defineScopes } from '../../src';
import { brokenMigrations } from '../../src/testing/promises';
import { extensionOf, migrationOf } from '../database/support/extensions';
import { kennels } from '../modules/support/kennels.extension';
import { createDatabase } from '../support/database';
import { holdMeasuredTime } from '../support/timers';
import { itemsExtension } from './support/items.extension';

/** Starts a store on the server of the run, never through its pooler, in a database that has the schema already. */
const startShared = (options: TestStoreOptions) =>
  startTestStore({
    ...options,
    createDatabase: async () => {
      const database = await createDatabase();
      return { ...database, url: database.directUrl };
    },
  });

/** Mistakes of three extensions, each with the sentence that names it. */
const MISTAKES: Readonly<Record<string, readonly (readonly [mistake: string, sentence: RegExp])[]>> = {
  'first-items': [
    ['no key is required', /GET .* responds 200 to a request without a key, and must respond 401/],
    ['a list is sorted by name', /GET .* is not in ascending order of id/],
    ['any text', /POST .* responds 500 to name = "a\\u0000b"/],
    ['a response is not kept', /POST .* does not replay the response of an Idempotency-Key/],
    ['an unknown id is found', /GET .* responds 200 to an unknown id, and documents 404/],
    ['If-Match is ignored', /PATCH .* responds 200 to an If-Match of another state, and must respond 412/],
  ],
  'second-items': [
    ['a scope is not enough', /GET .* responds 403 to a key with the scope second-items:read/],
    ['a cursor is ignored', /GET .* responds 200 to a cursor of another list, and must respond 400/],
    ['a bound is ignored', /POST .* accepts size = 501, which its document forbids: \/size must be <= 500/],
    ['a creation is repeated', /POST .* creates more than once for one Idempotency-Key/],
    [
      'a body is never the same',
      /GET .* responds 200 to the ETag of its last response, and must respond 304/,
    ],
    ['another body is compared', /PATCH .* responds 412 to the current ETag in If-Match/],
  ],
  'third-items': [
    ['a response is undocumented', /GET .* responds 200, which its document does not have: body \/size/],
    ['a change is not undone', /PATCH .* changes the resource with an If-Match of another state/],
  ],
};

describe('brokenPromises', () => {
  let store: TestStore;
  let sentences: readonly string[];
  beforeAll(async () => {
    // A busy machine must not make a limit wait.
    holdMeasuredTime();
    const broken = Object.entries(MISTAKES).map(([name, rows]) =>
      itemsExtension(
        name,
        rows.map(([each]) => each),
      ),
    );
    const extensions = [itemsExtension('correct-items'), ...broken];
    store = await startShared({ extensions });
    sentences = await brokenPromises(store);
  });
  afterAll(async () => {
    jest.useRealTimers();
    await store.close();
  });

  it('is empty for the store and a correct extension', () => {
    expect(sentences.filter((each) => !/(first|second|third)-items/.test(each))).toEqual([]);
  });

  const rows = Object.entries(MISTAKES).flatMap(([name, of]) => of.map((row) => [...row, name] as const));
  it.each(rows)('names the mistake that %s', (_mistake, sentence, name) => {
    const own = sentences.filter((each) => each.includes(`/v1/${name}`));
    expect(own).toContainEqual(expect.stringMatching(sentence));
  });

  it('finds what fetch rejects, too: a response that the document lacks', async () => {
    const key = await store.key();
    const body = { name: 'North', size: 5 };
    const { headers } = await store.fetch('/v1/third-items', { method: 'POST', key, body });
    await expect(store.fetch(headers.location!, { key })).rejects.toThrow('body /size: must be');
  });

  it.each([
    ['that fails', 'DROP TABLE wrnog', 'fails. table "wrnog" does not exist'],
    ['that leaves something', 'DROP TABLE wrong', 'leaves a part .* type "size" already exists'],
    ['that leaves a table', 'DROP TYPE size', 'leaves wrong[.]'],
  ])('names a "down" %s', async (_what, down, sentence) => {
    const up = `CREATE TYPE size AS ENUM ('s'); CREATE TABLE wrong (id int)`;
    const extensions = [extensionOf('wrong', migrationOf('Wrong1795300000009', up, down))];
    expect(await brokenMigrations({ ...store, extensions })).toEqual([
      expect.stringMatching(`^The "down" of a migration ${sentence}`),
    ]);
  });
});

describe('a test store', () => {
  it('has a PostgreSQL of its own in a temporary folder, which close removes', async () => {
    const store = await startTestStore({ extensions: [kennels] });
    expect((await store.fetch('/v1/kennels/first', { key: await store.key() })).status).toBe(409);
    // The folder of its socket.
    const folder = new URL((await store.createDatabase()).url).searchParams.get('host')!;
    expect([folder, existsSync(folder)]).toEqual([expect.stringContaining('animal-store-testing-'), true]);
    await store.close();
    expect(existsSync(folder)).toBe(false);
  });

  describe('on a given server', () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await startShared({ extensions: [kennels] });
    });
    afterAll(() => store.close());

    it('sends bodies as JSON with exact integers, and returns the response', async () => {
      const key = await store.key();
      const body = { name: 'Rex', categoryId: 9007199254740993n };
      const created = await store.fetch('/v1/pets', { method: 'POST', key, body });
      expect(created.status).toBe(201);
      expect(created.text).toContain('"categoryId":9007199254740993,');
      expect((await store.fetch(created.headers.location!, { key })).json.name).toBe('Rex');
    });

    it('creates keys with scopes, limits and an expiry by its clock', async () => {
      const key = await store.key({ scopes: ['kennels:read'], perMinute: 1 });
      expect((await store.fetch('/v1/pets', { key })).status).toBe(403);
      expect((await store.fetch('/v1/pets', { key })).status).toBe(429);
      store.clock.advance({ seconds: 60 });
      expect((await store.fetch('/v1/pets', { key })).status).toBe(403);
      const expiring = await store.key({ expiresAt: new Date(store.clock.now() + 1_000) });
      expect((await store.fetch('/v1/pets', { key: expiring })).status).toBe(200);
      store.clock.advance({ seconds: 1 });
      expect((await store.fetch('/v1/pets', { key: expiring })).json.code).toBe('expired_api_key');
    });

    it('gives two keys of one account one window, and keys of a plan the limits of the plan', async () => {
      const keys = [await store.key({ account: 'acme', plan: 'free' }), await store.key({ account: 'acme' })];
      const remaining = [];
      for (const key of keys) {
        const { headers } = await store.fetch('/v1/pets', { key });
        remaining.push(headers['x-ratelimit-remaining']);
      }
      expect(remaining).toEqual(['59', '58']);
    });
  });

  it('rejects with the sentence of a mistake in an extension, and leaves nothing open', async () => {
    const { read } = defineScopes('pets', 'read');
    const extensions = [{ name: 'kennels', scopes: [read] }];
    await expect(startShared({ extensions })).rejects.toThrow('pets:read');
  });
});
