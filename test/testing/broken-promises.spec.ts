import { brokenPromises, startTestStore, type TestStore } from '../../src/testing';
import { extensionOf, migrationOf } from '../database/support/extensions';
import { holdMeasuredTime } from '../support/timers';
import { itemsExtension } from './support/items.extension';
import { sharedServer } from './support/shared-server';

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
    store = await startTestStore({ extensions, server: sharedServer });
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

  it.each([
    ['that fails', 'DROP TABLE wrnog', 'fails. The "down" of the .* \\(table "wrnog" does not exist\\)'],
    ['that leaves something', 'DROP TABLE wrong', 'leaves a part .*\\(type "size" already exists\\)'],
    ['that leaves a table', 'DROP TYPE size', 'leaves wrong[.]'],
  ])('names a path without an operation, and a "down" %s', async (_what, down, sentence) => {
    const up = `CREATE TYPE size AS ENUM ('s'); CREATE TABLE wrong (id int)`;
    const extensions = [extensionOf('wrong', migrationOf('Wrong1795300000009', up, down))];
    expect(await brokenPromises({ ...store, extensions }, { paths: ['/wrong'] })).toEqual([
      'No operation of the store is below the path /wrong.',
      expect.stringMatching(`^The "down" of a migration ${sentence}`),
    ]);
  });
});
