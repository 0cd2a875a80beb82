import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { got } from 'got';
import { findNginx, startNginx } from './support/nginx.mjs';
import { startRecorder } from './support/recorder.mjs';
import { addPet, baseUrl, createKey, STAFF, url } from './support/service.mjs';

/** A guard against hanging: it takes eight seconds on an idle machine. */
const MAX_MS = 150_000;
const POLL_MS = 200;

/** The first request fills a cache. Each later one makes it ask the service whether its copy is current. */
suite('a cache in front of the service', () => {
  let key;
  let paths;
  before(async () => {
    key = await createKey('caches', { scopes: STAFF });
    const id = await addPet(key);
    const order = await call('POST', '/store/orders', { petId: id });
    await addPet(key);
    paths = ['/pets?limit=2', `/pets/${id}`, `/pets?id=${id}`, '/store/orders', `/store/orders/${order.id}`];
  });

  /** Sends a change. @returns the body of its response */
  async function call(method, path, body) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${baseUrl}${path}`, request);
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return response.json();
  }

  const rename = (name) => call('PATCH', paths[1], { name });

  /** Expects one 200 and one 304 without a body, which names the entity tag that the cache has. */
  function expectRevalidated(recorder, etag) {
    assert.deepEqual(
      recorder.answers.map(({ status, ifNoneMatch }) => [status, ifNoneMatch]),
      [
        [200, undefined],
        [304, etag],
      ],
    );
    const [full, empty] = recorder.answers;
    assert.ok(full.bytes > 0);
    assert.equal(empty.bytes, 0);
  }

  test('got 14 with its cache option: the service answers 304, and the body comes from the cache', async (context) => {
    const recorder = await startRecorder(url);
    context.after(recorder.close);
    const client = got.extend({
      prefixUrl: `${recorder.url}/v1`,
      headers: { authorization: `Bearer ${key}` },
      cache: new Map(),
      cacheOptions: { shared: false },
    });
    for (const path of paths) {
      recorder.answers.length = 0;
      const first = await client(path.slice(1));
      const second = await client(path.slice(1));
      assert.deepEqual([first.isFromCache, second.isFromCache], [false, true]);
      assert.deepEqual([second.statusCode, second.body], [200, first.body]);
      expectRevalidated(recorder, first.headers.etag);
    }
    await rename('after got');
    const changed = await client(paths[1].slice(1)).json();
    assert.equal(changed.name, 'after got');
  });

  const nginx = findNginx();
  const reason = 'needs nginx: apt-get install nginx-light, or NGINX_PATH';
  const options = { timeout: MAX_MS, skip: nginx === undefined && reason };
  test('nginx: the service answers 304, and the client gets the whole 200', options, async (context) => {
    const recorder = await startRecorder(url);
    context.after(recorder.close);
    const cache = await startNginx(nginx, recorder.url);
    context.after(cache.stop);

    /** Sends requests until nginx takes its copy as old, which it does after a second. */
    async function ask(path) {
      for (;;) {
        const response = await fetch(`${cache.url}/v1${path}`, {
          headers: { authorization: `Bearer ${key}` },
        });
        const text = await response.text();
        const { status, headers } = response;
        const from = headers.get('x-cache-status');
        if (from !== 'HIT') return { status, text, from, etag: headers.get('etag') };
        await sleep(POLL_MS);
      }
    }

    for (const path of paths) {
      recorder.answers.length = 0;
      const first = await ask(path);
      const second = await ask(path);
      assert.deepEqual([first.status, first.from], [200, 'MISS']);
      assert.deepEqual(second, { ...first, from: 'REVALIDATED' });
      expectRevalidated(recorder, first.etag);
    }
    await rename('after nginx');
    const changed = await ask(paths[1]);
    assert.deepEqual([changed.status, changed.from], [200, 'EXPIRED']);
    assert.equal(JSON.parse(changed.text).name, 'after nginx');
  });
});
