import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { startFaultProxy } from './support/fault-proxy.mjs';
import { findChromium } from './support/find-chromium.mjs';
import { openPage, startPageServer } from './support/page.mjs';
import { FREE, startStore } from './support/store.mjs';

const scenarios = await import('./support/scenarios.mjs');

const LISTED = 210;
/** A category with as many animals. */
const LISTED_CATEGORY = '3';

const platforms = {
  'Node.js': {
    start: async () => ({ run: (name, ...args) => scenarios[name](...args), close: async () => undefined }),
    emptyCategories: ['101', '102'],
  },
  'Chromium, on a page of another origin without TLS': {
    start: (origin) => openPage(origin),
    emptyCategories: ['201', '202'],
    skip: findChromium() === undefined && 'needs Chromium: apt-get install chromium, or CHROMIUM_PATH',
  },
};

suite('the client against the built service, with a Free key', () => {
  let page;
  let store;
  let proxy;
  before(async () => {
    page = await startPageServer();
    store = await startStore({ CORS_ORIGINS: page.origin });
    proxy = await startFaultProxy(store.url);
    await store.addPets(await store.createKey('seller'), LISTED);
  });
  after(async () => {
    proxy.close();
    page.close();
    await store.stop();
  });

  for (const [name, { start, emptyCategories, skip = false }] of Object.entries(platforms)) {
    suite(name, { skip }, () => {
      const keys = [];
      let platform;
      let options;
      before(async () => {
        platform = await start(page.origin);
        // Together the tests need more than the 60 requests a minute of one key.
        for (const at of [1, 2])
          keys.push(await store.createKey(`${name} ${at}`, { plan: FREE, scopes: store.STAFF }));
      });
      beforeEach(() => {
        proxy.seen.length = 0;
        keys.reverse();
        options = { baseUrl: `${proxy.url}/v1`, key: keys[0] };
      });
      after(() => platform.close());

      const run = (scenario, ...args) => platform.run(scenario, options, ...args);

      test('lists over 200 animals, each once, in the pages of the service', async () => {
        const expected = { pets: LISTED, distinct: LISTED, isAscending: true, pages: 5 };
        assert.deepEqual(await run('countPages', LISTED_CATEGORY), expected);
      });

      for (const [index, fault] of ['unavailable', 'cut'].entries()) {
        test(`adds one animal if the first response is lost (${fault})`, async () => {
          proxy.faults.push(fault);
          assert.deepEqual(await run('addOne', emptyCategories[index]), { listed: 1, isSame: true });
          const posts = proxy.seen.filter(({ method }) => method === 'POST');
          assert.deepEqual(
            posts.map((post) => [post.status, post.fault]),
            [
              [201, fault],
              [201, undefined],
            ],
          );
          assert.match(posts[0].key, /^[0-9a-f]{32}$/);
          assert.equal(posts[1].key, posts[0].key);
        });
      }

      for (const fault of ['cut', 'date', 'html']) {
        test(`changes an animal that it has read if the first response is lost (${fault})`, async () => {
          proxy.faults.push(undefined, fault);
          const expected = { names: ['Bello', 'Bello'], isTagged: true, found: 0 };
          assert.deepEqual(await run('changeAndRemove'), expected);
          const changes = proxy.seen.filter(({ method }) => method === 'PATCH');
          assert.deepEqual(
            changes.map((change) => [change.status, change.fault]),
            [
              [200, fault],
              [200, undefined],
              [200, undefined],
            ],
          );
        });
      }

      test('changes only what it has read through a proxy that compresses as Apache does', async () => {
        proxy.compress = true;
        const { changed, outdated, isSame, byHand } = await run('entityTags').finally(() => {
          proxy.compress = false;
        });
        assert.deepEqual([changed, outdated, isSame, byHand[0]], ['Bello', 'precondition_failed', true, 304]);
      });

      test('removes an animal if the first response is lost; the repeated request finds none', async () => {
        proxy.faults.push(undefined, 'cut');
        assert.deepEqual(await run('removeOne'), { code: 'pet_not_found', found: 0 });
        const removals = proxy.seen.filter(({ method }) => method === 'DELETE');
        assert.deepEqual(
          removals.map(({ status }) => status),
          [204, 404],
        );
      });

      test('keeps int64 exact in bodies, queries and paths', async () => {
        const { found, unknown } = await run('exactNumbers');
        const expected = ['9223372036854775807', '-9223372036854775808', '9007199254740993'];
        assert.deepEqual(
          found,
          expected.map((each) => [each, each, each]),
        );
        assert.equal(unknown, 'pet_not_found');
        assert.equal(proxy.seen.at(-1).path, '/v1/pets/9223372036854775807');
      });

      test('changes only what it has read, and gets 304 for what it has', async () => {
        assert.deepEqual(await run('entityTags'), {
          changed: 'Bello',
          outdated: 'precondition_failed',
          isSame: true,
          byHand: [304, 'undefined'],
        });
        const statuses = proxy.seen.filter(({ method }) => method === 'GET').map(({ status }) => status);
        assert.deepEqual(statuses, [200, 304, 304]);
      });

      test('orders an animal, finds the order and cancels it', async () => {
        assert.deepEqual(await run('orderAndCancel'), {
          code: 'pet_not_available',
          isListed: true,
          statuses: ['placed', 'cancelled', 'cancelled'],
        });
      });

      test('throws an AnimalStoreError with code, status, message and request id', async () => {
        assert.deepEqual(await run('typedError'), {
          isTyped: true,
          code: 'validation_failed',
          status: 400,
          message:
            'name must be a string of 1 to 255 characters, at least one of them not white space, and no control characters.',
          hasRequestId: true,
          isCounted: true,
        });
      });
    });
  }
});
