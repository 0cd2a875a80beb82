import assert from 'node:assert/strict';
import { afterEach, mock, suite, test } from 'node:test';
import { etagOf, stringify, toJSON } from 'animal-store-client';
import { ADDRESS, fakeService, ok, PET, rejection } from './support/fake-service.mjs';

const next = (address) => ({ link: `<${ADDRESS}/pets>; rel="first", <${address}>; rel="next"` });

async function idsOf(list) {
  const ids = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

suite('a list', () => {
  afterEach(() => mock.reset());

  test('follows rel="next", and asks for large pages', async () => {
    const pages = [
      ok([PET], next('/v1/pets?limit=100&cursor=a')),
      ok([{ ...PET, id: 2 }], next(`${ADDRESS}/pets?limit=100&cursor=b`)),
      ok([]),
    ];
    const { store, requests } = fakeService(pages);
    assert.deepEqual(await idsOf(store.pets.list()), [1n, 2n]);
    assert.deepEqual(
      requests.map(({ url }) => url),
      ['?limit=100', '?limit=100&cursor=a', '?limit=100&cursor=b'].map((query) => `${ADDRESS}/pets${query}`),
    );
  });

  test('follows a relation without quotes, which a proxy may write', async () => {
    const links = { link: '</v1/pets?cursor=a>; rel=next, </v1/pets>; rel=first' };
    const { store, requests } = fakeService([ok([PET], links), ok([])]);
    assert.deepEqual(await idsOf(store.pets.list()), [1n]);
    assert.equal(requests.length, 2);
  });

  test('with none of the wanted ids is empty, not everything', async () => {
    const { store, requests } = fakeService([ok([PET]), ok([PET])]);
    assert.deepEqual(await idsOf(store.pets.list({ id: [] })), []);
    assert.deepEqual(await idsOf(store.list('/visits', { petId: [] })), []);
    assert.equal(requests.length, 0);
  });

  test('never sends the key to another origin', async () => {
    const { store, requests } = fakeService([ok([PET], next('https://evil.example.com/v1/pets?cursor=a'))]);
    const seen = [];
    const read = async () => {
      for await (const { id } of store.pets.list()) seen.push(id);
    };
    await assert.rejects(read(), /The next page is at https:\/\/evil\.example\.com/);
    assert.deepEqual([seen, requests.length], [[1n], 1]);
  });

  test('is one array with toArray', async () => {
    const { store } = fakeService([ok([PET], next('/v1/pets?cursor=a')), ok([{ ...PET, id: 2 }])]);
    const pets = await store.pets.list().toArray();
    assert.deepEqual(
      pets.map(({ id }) => id),
      [1n, 2n],
    );
  });

  test('requests a page only when it is needed', async () => {
    const { store, requests } = fakeService([ok([PET, PET], next('/v1/pets?cursor=a'))]);
    for await (const { id } of store.pets.list()) if (id === 1n) break;
    assert.equal(requests.length, 1);
  });

  test('sends its filters: a list as a repeated parameter, an int64 exactly', async () => {
    const { store, requests } = fakeService([ok(), ok()]);
    await idsOf(store.pets.list({ id: [7n, 9007199254740993n], status: 'sold', sort: '-id', limit: 5 }));
    await idsOf(store.orders.list({ account: '*' }));
    assert.deepEqual(
      requests.map(({ url }) => url.slice(ADDRESS.length)),
      ['/pets?limit=5&id=7&id=9007199254740993&status=sold&sort=-id', '/store/orders?limit=100&account=*'],
    );
  });
});

suite('a request', () => {
  afterEach(() => mock.reset());

  test('of an extension has exact numbers too, in the members that the client was told', async () => {
    const body = '{"visitIds":[9007199254740993],"petId":9223372036854775807,"minutes":30,"price":1.5}';
    const { store, requests } = fakeService([() => new Response(body)], { int64Members: ['visitIds'] });
    const visit = { visitIds: [9007199254740993n], petId: 9223372036854775807n, minutes: 30, price: 1.5 };
    const { data, status } = await store.request('POST', '/visits', { body: visit, query: { dry: true } });
    assert.deepEqual([status, data], [200, visit]);
    assert.deepEqual([requests[0].url, requests[0].body], [`${ADDRESS}/visits?dry=true`, body]);
  });

  test('has a bigint only for a member that may exceed 2^53', async () => {
    const window = { limit: 60, remaining: 59, resetAt: '2026-11-21T12:01:00.000Z' };
    const body = { limits: { minute: window, day: window }, strikes: { count: 1, banAfter: 100 } };
    const { store } = fakeService([ok(body), ok({ count: 3, id: 7 })]);
    assert.deepEqual(await store.key(), body);
    assert.deepEqual((await store.request('GET', '/visits')).data, { count: 3, id: 7n });
  });

  test('has the headers of the caller and those of the client', async () => {
    const { store, requests } = fakeService([ok(PET)]);
    const headers = { 'X-Request-Id': 'r1', Prefer: 'handling=lenient' };
    await store.request('PATCH', '/pets/1', { body: {}, headers, ifMatch: '"a"' });
    assert.deepEqual(requests[0].headers, {
      accept: 'application/json',
      authorization: 'Bearer ask_test_1',
      'content-type': 'application/json',
      'if-match': '"a"',
      prefer: 'handling=lenient',
      'x-request-id': 'r1',
    });
  });

  test('is not answered from a cache, such as that of Next.js, unless a browser asks whether its copy is current', async () => {
    const cacheOf = async () => {
      const { store, requests } = fakeService([ok(PET)]);
      await store.pets.get(1n);
      mock.reset();
      return requests[0].cache;
    };
    assert.equal(await cacheOf(), 'no-store');
    globalThis.location = new URL(ADDRESS);
    assert.equal(await cacheOf(), undefined);
    delete globalThis.location;
    const { Request } = globalThis;
    globalThis.Request = function OldWorker(url, init) {
      if ('cache' in init) throw new TypeError("The 'cache' field is not implemented.");
      return new Request(url, init);
    };
    assert.equal(await cacheOf(), undefined);
    globalThis.Request = Request;
  });

  test('works below any base address', async () => {
    const { store, requests } = fakeService([ok(PET)], { baseUrl: 'https://example.com/shop/v1/' });
    await store.pets.get(1n);
    assert.equal(requests[0].url, 'https://example.com/shop/v1/pets/1');
  });

  test('stays below the base address, whatever its path begins with', async () => {
    const paths = ['visits', '//evil.example.com', '@evil.example.com', '.evil.example.com'];
    const { store, requests } = fakeService(
      paths.map(() => ok()),
      { baseUrl: 'https://example.com' },
    );
    for (const path of paths) await store.request('GET', path);
    assert.deepEqual(
      requests.map(({ url }) => url),
      ['visits', 'evil.example.com', '@evil.example.com', '.evil.example.com'].map(
        (path) => `https://example.com/${path}`,
      ),
    );
  });

  test('gets an error of its own code if the response is not one of the service', async () => {
    const page = (status, headers = {}) =>
      new Response(`<html>\n\u001b[2J${'é'.repeat(200)}`, { status, headers });
    const { store } = fakeService([
      page(404, { 'content-type': 'text/html' }),
      page(200, { 'content-type': 'text/html; charset=utf-8' }),
      page(307, { location: 'https://other.example/v1/pets' }),
      new Response('', { status: 403, headers: { 'content-type': 'text/html' } }),
    ]);
    const excerpt = `"<html> [2J${'é'.repeat(90)}"`;
    const check = 'Check baseUrl, and the proxies in between.';
    for (const [status, received] of [
      [404, `status 404, text/html, ${excerpt}. ${check}`],
      [200, `status 200, text/html; charset=utf-8, ${excerpt}. ${check}`],
      [
        307,
        `status 307, text/plain;charset=UTF-8, ${excerpt}. It is a redirect to https://other.example/v1/pets: set baseUrl to the address of the service.`,
      ],
      [403, `status 403, text/html, no body. ${check}`],
    ]) {
      const message = `The response is not one of the service: ${received}`;
      await assert.rejects(store.pets.get(1n), { code: 'unexpected_response', status, message });
    }
  });
});

suite('an error', () => {
  afterEach(() => mock.reset());

  test('has code and message of the service, and is asked for also if a name is misspelled', async () => {
    const { store, requests } = fakeService([rejection(404, 'pet_not_found')]);
    await assert.rejects(store.pets.get(1n), { code: 'pet_not_found', message: 'It is pet_not_found.' });
    assert.equal(requests[0].headers.prefer, 'handling=strict');
  });

  test('has its own code if its JSON is not that of the service', async () => {
    const bodies = ['null', '7', '{"code":7,"message":"a"}', '{"code":"a"}'];
    const { store } = fakeService(bodies.map((body) => new Response(body, { status: 404 })));
    for (const body of bodies)
      await assert.rejects(store.pets.get(1n), { code: 'unexpected_response' }, body);
  });
});

suite('the requests that are left', () => {
  afterEach(() => mock.reset());

  test('are those of the last response, also of an error or a page of a proxy', async () => {
    const left = (remaining) => ({ 'x-ratelimit-remaining': remaining });
    const { store } = fakeService([ok(PET, left('41')), ok(PET), rejection(404, 'pet_not_found', left('0'))]);
    const seen = [store.remaining];
    for (let at = 0; at < 3; at += 1) {
      await store.pets.get(1n).catch(() => undefined);
      seen.push(store.remaining);
    }
    assert.deepEqual(seen, [undefined, 41, 41, 0]);
  });

  test('are the first of a header that a proxy adds again, and are kept if the header is another one', async () => {
    const given = ['7, 7', '6, 59;w=60', '', 'many', '-1', '5 ,4,3'];
    const { store } = fakeService(given.map((left) => ok(PET, { 'x-ratelimit-remaining': left })));
    const seen = [];
    for (let at = 0; at < given.length; at += 1) {
      await store.pets.get(1n);
      seen.push(store.remaining);
    }
    assert.deepEqual(seen, [7, 7, 7, 7, 7, 5]);
  });
});

suite('animals and orders as JSON', () => {
  const pet = { id: 9007199254740993n, name: 'Rex', tags: [{ of: -1n }], price: 1.5, note: null };

  test('are exact integers with stringify', () => {
    const text = '{"id":9007199254740993,"name":"Rex","tags":[{"of":-1}],"price":1.5,"note":null}';
    assert.equal(stringify(pet), text);
    assert.equal(stringify([1n], 2), '[\n  1\n]');
  });

  test('have decimal strings with toJSON, for JSON.stringify', () => {
    const copy = { id: '9007199254740993', name: 'Rex', tags: [{ of: '-1' }], price: 1.5, note: null };
    assert.deepEqual(toJSON(pet), copy);
    assert.deepEqual(toJSON([pet]), [copy]);
    assert.equal(JSON.stringify(toJSON(pet)), JSON.stringify(copy));
  });
});

suite('the cache of bodies', () => {
  afterEach(() => mock.reset());

  const tagged = (id) => ok({ ...PET, id }, { etag: `"${id}"` });
  const unchanged = (id) => new Response(null, { status: 304, headers: { etag: `"${id}"` } });

  test('sends If-None-Match and returns the body again, each time as an object of its own', async () => {
    const { store, requests } = fakeService([tagged(1), unchanged(1)], { cachedBodies: 1 });
    const first = await store.pets.get(1n);
    first.name = 'changed by the caller';
    const second = await store.pets.get(1n);
    assert.deepEqual([second.name, etagOf(second)], ['Rex', '"1"']);
    assert.equal(requests[1].headers['if-none-match'], '"1"');
  });

  test('keeps the bodies that were used last', async () => {
    const responses = [tagged(1), tagged(2), unchanged(1), tagged(3), unchanged(1), tagged(2)];
    const { store, requests } = fakeService(responses, { cachedBodies: 2 });
    for (const id of [1n, 2n, 1n, 3n, 1n, 2n]) await store.pets.get(id);
    const tags = requests.map(({ headers }) => headers['if-none-match']);
    assert.deepEqual(tags, [undefined, undefined, '"1"', undefined, '"1"', undefined]);
  });

  test('is off by default', async () => {
    const { store, requests } = fakeService([tagged(1), tagged(1)]);
    await store.pets.get(1n);
    await store.pets.get(1n);
    assert.equal(requests[1].headers['if-none-match'], undefined);
  });
});
