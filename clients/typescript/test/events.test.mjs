import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { afterEach, mock, suite, test } from 'node:test';
import { verifyWebhook } from 'animal-store-client';
import { ADDRESS, fakeService, lostConnection, ok, rejection } from './support/fake-service.mjs';

const event = (id) => ({ id, type: 'pet.created', createdAt: '2026-11-21T12:00:00.000Z', data: { id: 1 } });
const next = (cursor) => ({ link: `</v1/events?limit=100&cursor=${cursor}>; rel="next"` });

suite('the events', () => {
  afterEach(() => mock.reset());

  /** Reads events until the last one has this id, while each pause passes immediately. */
  async function readTo(feed, last) {
    const ids = [];
    const passing = setInterval(() => mock.timers.tick(5_000), 1);
    try {
      for await (const { id } of feed) {
        ids.push(id);
        if (id === last) break;
      }
    } finally {
      clearInterval(passing);
    }
    return ids;
  }

  test('are followed from page to page, with a wait after an empty one', async () => {
    const { store, requests } = fakeService([
      ok([event(1), event(2)], next('a')),
      ok([], next('b')),
      ok([], next('c')),
      ok([event(3)], next('d')),
    ]);
    assert.deepEqual(await readTo(store.events({ type: ['pet.created'] }), 3n), [1n, 2n, 3n]);
    const urls = requests.map(({ url }) => url.slice(ADDRESS.length));
    assert.equal(urls[0], '/events?limit=100&type=pet.created');
    assert.deepEqual(
      urls.slice(1).map((url) => url.slice(-1)),
      ['a', 'b', 'c'],
    );
  });

  test('continue after any number of lost connections and unavailable responses', async () => {
    const interruptions = Array.from({ length: 40 }, (_, at) =>
      at % 2 ? lostConnection() : rejection(503, 'service_unavailable'),
    );
    const { store, requests } = fakeService([
      ok([event(1)], next('a')),
      ...interruptions,
      ok([event(2)], next('b')),
    ]);
    assert.deepEqual(await readTo(store.events(), 2n), [1n, 2n]);
    assert.equal(requests.length, 42);
  });

  test('end with an error that no retry can fix', async () => {
    const { store } = fakeService([rejection(410, 'cursor_expired')]);
    await assert.rejects(readTo(store.events({}, { cursor: 'old' })), { code: 'cursor_expired' });
  });

  test('begin at a cursor, and have the one from which a reader loses none', async () => {
    const { store, requests } = fakeService([ok([event(1), event(2)], next('b')), ok([event(3)], next('c'))]);
    const feed = store.events({}, { cursor: 'a' });
    const cursors = [];
    for await (const { id } of feed) {
      cursors.push(feed.cursor);
      if (id === 3n) break;
    }
    assert.deepEqual(cursors, ['a', 'a', 'b']);
    assert.match(requests[0].url, /cursor=a$/);
  });

  test('have the position of now before the first event is read, and continue from a saved one instead', async () => {
    const { store, requests } = fakeService([
      ok([], next('n')),
      ok([event(1)], next('b')),
      ok([event(2)], next('c')),
    ]);
    const feed = store.events({ from: 'now', type: ['pet.created'] });
    assert.deepEqual([feed.cursor, await feed.start(), feed.cursor], [undefined, 'n', 'n']);
    assert.equal(await feed.start(), 'n');
    assert.deepEqual(await readTo(feed, 1n), [1n]);
    const saved = store.events({ from: 'now' }, { cursor: 'b' });
    assert.equal(await saved.start(), 'b');
    assert.deepEqual(await readTo(saved, 2n), [2n]);
    assert.deepEqual(
      requests.map(({ url }) => url.slice(ADDRESS.length)),
      [
        '/events?limit=100&from=now&type=pet.created',
        '/events?limit=100&type=pet.created&cursor=n',
        '/events?limit=100&cursor=b',
      ],
    );
  });

  test('are all read after a start without a position', async () => {
    const { store } = fakeService([ok([event(1)], next('b')), ok([event(1)], next('b'))]);
    const feed = store.events();
    assert.equal(await feed.start(), undefined);
    assert.deepEqual(await readTo(feed, 1n), [1n]);
  });

  test('are a list that ends at its empty page', async () => {
    const { store, requests } = fakeService([ok([event(1)], next('b')), ok([], next('c'))]);
    assert.equal((await store.list('/events').toArray()).length, 1);
    assert.equal(requests.length, 2);
  });

  test('end when the signal is aborted, also during a wait', async () => {
    const abort = new AbortController();
    const { store } = fakeService([ok([], next('a'))]);
    const reading = readTo(store.events({}, { signal: abort.signal, pauseMs: 2 ** 30 }));
    setImmediate(() => abort.abort(new Error('enough')));
    await assert.rejects(reading, /enough/);
  });
});

suite('verifyWebhook', () => {
  const secrets = [1, 2, 3].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`);
  const BODY = '{"id":9007199254740993,"type":"pet.created","createdAt":"…","data":{"id":1,"name":"☃"}}';
  const seconds = () => Math.floor(Date.now() / 1_000);
  const sign = (secret, message) =>
    `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(message)
      .digest('base64')}`;
  const delivery = ({ by = [secrets[0]], at = seconds(), body = BODY } = {}) => ({
    headers: {
      'webhook-id': '7',
      'webhook-timestamp': String(at),
      'webhook-signature': by.map((secret) => sign(secret, `7.${at}.${BODY}`)).join(' '),
    },
    body,
  });

  test('returns the event with exact numbers, of a Request of the platform and of a server', async () => {
    const { headers, body } = delivery();
    const titled = Object.entries(headers).map(([name, value]) => [
      name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()),
      value,
    ]);
    const inputs = [
      { headers, body },
      { headers, body: new TextEncoder().encode(body) },
      { headers: new Headers(headers), body },
      new Request('https://shop.example', { method: 'POST', headers, body }),
      ...[
        titled,
        Object.fromEntries(titled),
        new Map(titled),
        titled.map(([name, value]) => [name, [value]]),
      ].map((each) => ({ headers: each, body })),
      { headers: { ...headers, 'Webhook-Signature': undefined, Accept: '*/*' }, body },
    ];
    for (const input of inputs) {
      const { id, data } = await verifyWebhook(input, secrets[0]);
      assert.deepEqual([id, data.name], [9007199254740993n, '☃']);
    }
  });

  test('accepts each of several signatures and secrets', async () => {
    await verifyWebhook(delivery({ by: [secrets[1], secrets[0]] }), secrets[0]);
    await verifyWebhook(delivery({ by: [secrets[1]] }), [secrets[2], secrets[1]]);
    const { headers, body } = delivery({ by: [secrets[1], secrets[0]] });
    const signatures = headers['webhook-signature'].split(' ');
    await verifyWebhook({ headers: { ...headers, 'webhook-signature': signatures }, body }, secrets[0]);
  });

  test('accepts a secret with the line end of its file', async () => {
    for (const end of ['\n', '\r\n', ' ', '\n\n']) {
      await verifyWebhook(delivery(), `${secrets[0]}${end}`);
      await verifyWebhook(delivery(), [`\ufeff${secrets[1]}`, ` ${secrets[0].slice(6)}${end}`]);
    }
  });

  test('rejects a changed body, an old or future time, another secret and other signatures', async (context) => {
    context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const rejected = (input, secret = secrets[0]) =>
      assert.rejects(verifyWebhook(input, secret), /^Error: (The|No) webhook-/);
    await rejected(delivery({ body: BODY.replace('pet', 'Pet') }));
    await rejected(delivery({ body: `\ufeff${BODY}` }));
    for (const at of [seconds() - 302, seconds() + 302]) await rejected(delivery({ at }));
    await verifyWebhook(delivery({ at: seconds() - 302 }), secrets[0], { toleranceSeconds: 400 });
    await rejected(delivery(), secrets[1]);
    const { headers, body } = delivery();
    for (const name of Object.keys(headers))
      await rejected({ headers: { ...headers, [name]: undefined }, body });
    for (const signature of [
      'v1,',
      'v1,x',
      'v1,AA==',
      'v1a,AAAA',
      headers['webhook-signature'].replace('v1,', 'v2,'),
    ])
      await rejected({ headers: { ...headers, 'webhook-signature': signature }, body });
  });

  test('rejects every delivery if a secret is missing or no base64, because any sender could sign with it', async () => {
    const forged = delivery({ by: ['whsec_', 'whsec_AA=='] });
    for (const secret of ['', 'whsec_', `${secrets[0]}\nx`, `${secrets[0]}=`])
      for (const input of [forged, delivery()])
        await assert.rejects(verifyWebhook(input, [secrets[0], secret]), /^Error: The secret must be whsec_/);
  });
});
