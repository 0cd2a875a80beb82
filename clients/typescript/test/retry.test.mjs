import assert from 'node:assert/strict';
import { afterEach, mock, suite, test } from 'node:test';
import { fakeService, lostConnection, ok, PET, rejection } from './support/fake-service.mjs';

const NEW_PET = { name: 'Rex', categoryId: 3n };

const limited = (seconds) => rejection(429, 'rate_limit_exceeded', { 'retry-after': String(seconds) });

suite('retries', () => {
  afterEach(() => mock.reset());

  test('wait at least Retry-After, with growing jitter', async () => {
    const { store, waits } = fakeService([limited(42), limited(1), ok(PET)]);
    await store.pets.get(1n);
    assert.deepEqual(waits, [42_250, 1_500]);
  });

  test('wait for a date in Retry-After, which a proxy may send', async () => {
    const unavailable = () =>
      rejection(503, 'service_unavailable', { 'retry-after': new Date(Date.now() + 7_000).toUTCString() });
    const { store, waits } = fakeService([unavailable, ok(PET)]);
    await store.pets.get(1n);
    assert.deepEqual(waits, [7_250]);
  });

  test('follow the clock of the sender, whatever the own one is, and the obsolete forms of a date', async () => {
    const at = (text, date) => rejection(503, 'some_code', { 'retry-after': text, ...(date && { date }) });
    const date = 'Sun, 06 Nov 2044 08:49:30 GMT';
    const { store, waits } = fakeService([
      at('Sun, 06 Nov 2044 08:49:37 GMT', date),
      at('Sunday, 06-Nov-44 08:49:37 GMT', date),
      at('Sun Nov  6 08:49:37 2044', date),
      ok(PET),
    ]);
    await store.pets.get(1n);
    assert.deepEqual(waits, [7_250, 7_500, 8_000]);
  });

  for (const [text, seconds] of [
    ['Wed, 31 Dec 1969 23:00:00 GMT', 0],
    [' 2 ', 2],
    ['9'.repeat(400), Infinity],
    // A proxy that adds the header again.
    ['5, 5', 5],
    ['5 ,7,9', 5],
    ...[
      '',
      ',',
      '5,',
      '5, soon',
      '1.5',
      '-5',
      '1e3',
      'soon',
      '5 s',
      'Someday',
      'Sun, 99 Nov 2044 08:49:37 GMT',
      '2044-11-06',
    ].map((each) => [each, undefined]),
  ])
    test(`read the Retry-After ${text.slice(0, 40)} as ${seconds}`, async () => {
      const { store } = fakeService([rejection(503, 'some_code', { 'retry-after': text })], { retry: false });
      await assert.rejects(store.pets.get(1n), { retryAfterSeconds: seconds });
    });

  test('are given up immediately if the wait exceeds the budget, as for a ban', async () => {
    const banned = rejection(429, 'api_key_banned', { 'retry-after': '300', 'x-request-id': 'r1' });
    const { store, requests, waits } = fakeService([banned]);
    await assert.rejects(store.pets.get(1n), {
      name: 'AnimalStoreError',
      code: 'api_key_banned',
      status: 429,
      message: 'It is api_key_banned.',
      retryAfterSeconds: 300,
      requestId: 'r1',
    });
    assert.deepEqual([requests.length, waits], [1, []]);
  });

  test('never wait longer than a timer can, with any budget', async () => {
    const { store, requests, waits } = fakeService([limited(9_999_999)], { retry: { budgetMs: Infinity } });
    await assert.rejects(store.pets.get(1n), { code: 'rate_limit_exceeded' });
    assert.deepEqual([requests.length, waits], [1, []]);
  });

  test('share one budget, with the waits before', async () => {
    const { store, waits } = fakeService([limited(60), limited(59), limited(5), ok(PET)]);
    await assert.rejects(store.pets.get(1n), { code: 'rate_limit_exceeded', retryAfterSeconds: 5 });
    assert.deepEqual(waits, [60_250, 59_500]);
  });

  for (const [change, stepMs] of [
    ['forward', 86_400_000],
    ['back', -86_400_000],
  ])
    test(`have the same budget if the clock is set ${change}`, async () => {
      const limitedWithStep = () => {
        const now = Date.now() + stepMs;
        mock.method(Date, 'now', () => now);
        return limited(60);
      };
      const { store, waits } = fakeService([limitedWithStep, limited(59), limited(5), ok(PET)]);
      await assert.rejects(store.pets.get(1n), { retryAfterSeconds: 5 });
      assert.deepEqual(waits, [60_250, 59_500]);
    });

  test('of a POST have the Idempotency-Key and the body of the first attempt', async () => {
    const inUse = rejection(409, 'idempotency_key_in_use', { 'retry-after': '1' });
    const { store, requests } = fakeService([lostConnection(), inUse, ok(PET)]);
    await store.pets.create(NEW_PET);
    const [first, ...others] = requests;
    assert.match(first.headers['idempotency-key'], /^[0-9a-f]{32}$/);
    assert.deepEqual(others, [first, first]);
  });

  test('of a POST have an Idempotency-Key if the method is in lower case', async () => {
    const { store, requests } = fakeService([lostConnection(), ok(PET)]);
    await store.request('post', '/pets', { body: NEW_PET });
    const [first, ...others] = requests;
    assert.equal(first.method, 'POST');
    assert.match(first.headers['idempotency-key'], /^[0-9a-f]{32}$/);
    assert.deepEqual(others, [first]);
  });

  test('of different calls have different keys, and the caller may give one', async () => {
    const { store, requests } = fakeService([ok(PET), ok(PET), ok(PET)]);
    await store.pets.create(NEW_PET);
    await store.pets.create(NEW_PET);
    await store.pets.create(NEW_PET, { idempotencyKey: 'order-7' });
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    assert.deepEqual([new Set(keys).size, keys[2]], [3, 'order-7']);
  });

  test('after lost connections end with the error of the connection', async () => {
    const lost = Array.from({ length: 6 }, lostConnection);
    const { store, requests, waits } = fakeService(lost);
    await assert.rejects(store.pets.get(1n), { message: 'fetch failed' });
    assert.equal(requests.length, 6);
    assert.deepEqual(waits, [250, 500, 1_000, 2_000, 4_000]);
  });

  test('follow a response that breaks in its body', async () => {
    const broken = () => new Response(new ReadableStream({ pull: (body) => body.error(lostConnection()) }));
    const { store, requests } = fakeService([broken, ok(PET)]);
    await store.pets.get(1n);
    assert.equal(requests.length, 2);
  });

  test('follow a response that takes too long', async () => {
    const hung = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const { store, requests } = fakeService([hung, ok(PET)], { timeoutMs: 20 });
    // The timer of a timeout does not keep the process alive; a connection would.
    const alive = setInterval(() => undefined, 1_000);
    await store.pets.get(1n);
    clearInterval(alive);
    assert.equal(requests.length, 2);
  });

  test('are not needed without a limit of the time for a response', async () => {
    const { store, requests } = fakeService([ok(PET)], { timeoutMs: Infinity });
    await store.pets.get(1n);
    assert.equal(requests.length, 1);
  });

  for (const status of [400, 401, 403, 404, 409, 412, 422]) {
    test(`do not follow a ${status}`, async () => {
      const { store, requests } = fakeService([rejection(status, 'some_code')]);
      await assert.rejects(store.pets.create(NEW_PET), { code: 'some_code', status });
      assert.equal(requests.length, 1);
    });
  }

  test('do not follow a request that cannot be sent', async () => {
    const { store, requests, waits } = fakeService([]);
    await assert.rejects(store.request('GET', '/pets', { body: {} }), TypeError);
    await assert.rejects(store.request('NO METHOD', '/pets'), TypeError);
    assert.deepEqual([requests.length, waits], [0, []]);
  });

  test('do not follow an AbortSignal of another realm, which could not end the request', async () => {
    const foreign = Object.assign(new EventTarget(), { aborted: false });
    const message = /^The AbortSignal is of another realm than fetch, such as jsdom\. Use /;
    const { store, waits } = fakeService([], { fetch });
    await assert.rejects(store.pets.get(1n, { signal: foreign }), { name: 'TypeError', message });
    const { AbortSignal } = globalThis;
    // That of jsdom: fetch of Node.js rejects the signal.
    globalThis.AbortSignal = { timeout: () => ({}) };
    const call = store.pets.get(1n);
    globalThis.AbortSignal = AbortSignal;
    await assert.rejects(call, { name: 'TypeError', message });
    // It passes as the one of the platform, until it is used.
    const signal = Object.create(AbortSignal.prototype);
    await assert.rejects(store.pets.get(1n, { signal, retry: false }), { name: 'TypeError', message });
    assert.deepEqual(waits, []);
  });

  for (const missing of ['timeout', 'any'])
    test(`do not follow an AbortSignal without ${missing}, which is not called foreign`, async (context) => {
      const { store, waits } = fakeService([ok(PET)]);
      const { [missing]: original } = AbortSignal;
      context.after(() => (AbortSignal[missing] = original));
      AbortSignal[missing] = undefined;
      await assert.rejects(store.pets.get(1n, { signal: new AbortController().signal }), {
        name: 'TypeError',
        message: 'AbortSignal.timeout or AbortSignal.any is missing. Use a newer browser, Node.js or jsdom.',
      });
      assert.deepEqual(waits, []);
    });

  for (const timeoutMs of [-1, NaN, 10.5, -Infinity])
    test(`do not follow a timeoutMs of ${timeoutMs}, with which no client is made`, () => {
      const message = `timeoutMs must be a whole number from 0, or Infinity; it is ${timeoutMs}.`;
      assert.throws(() => fakeService([], { timeoutMs }), { name: 'RangeError', message });
    });

  test('do not follow a scheme, port or header with which fetch sends nothing', async () => {
    for (const [baseUrl, headers = {}] of [
      ['localhost:3000/v1'],
      ['http://127.0.0.1:6000'],
      ['http://127.0.0.1:1024', { 'transfer-encoding': 'chunked' }],
    ]) {
      const { store, waits } = fakeService([], { baseUrl, fetch });
      await assert.rejects(store.request('GET', '/pets', { headers }), TypeError);
      assert.deepEqual(waits, [], baseUrl);
      mock.reset();
    }
  });

  test('do not follow an error of Next.js, which must reach it', async () => {
    const error = Object.assign(new Error('Dynamic server usage'), { digest: 'DYNAMIC_SERVER_USAGE' });
    const { store, requests } = fakeService([error]);
    await assert.rejects(store.pets.get(1n), error);
    assert.equal(requests.length, 1);
  });

  test('are off with retry: false, for the client or one call', async () => {
    const { store } = fakeService([limited(1)], { retry: false });
    await assert.rejects(store.pets.get(1n), { status: 429 });
    mock.reset();
    const other = fakeService([limited(1)]);
    await assert.rejects(other.store.pets.get(1n, { retry: false }), { status: 429 });
  });

  test('and their waits end with the signal of the call', async () => {
    const stop = new AbortController();
    const retry = { onWait: () => stop.abort(new Error('stopped')) };
    const { store, requests } = fakeService([limited(30)], { retry });
    await assert.rejects(store.pets.get(1n, { signal: stop.signal }), { message: 'stopped' });
    assert.equal(requests.length, 1);
  });

  test('do not follow the end of the call by its signal', async () => {
    const signal = AbortSignal.abort(new Error('stopped'));
    const { store, requests } = fakeService([({ signal: given }) => given.reason]);
    await assert.rejects(store.pets.get(1n, { signal }), { message: 'stopped' });
    assert.equal(requests.length, 1);
  });
});
