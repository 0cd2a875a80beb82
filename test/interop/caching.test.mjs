import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { got } from 'got';
import { addPet, baseUrl, createKey, STAFF } from './support/service.mjs';

suite('a client with a cache', () => {
  test('got 14: the second body comes from the cache if the service confirms it, and a change is seen', async () => {
    const key = await createKey('caches', { scopes: STAFF });
    const client = got.extend({
      prefixUrl: baseUrl,
      headers: { authorization: `Bearer ${key}` },
      cache: new Map(),
      cacheOptions: { shared: false },
    });
    const id = await addPet(key);
    const order = await client.post('store/orders', { json: { petId: id } }).json();
    await addPet(key);
    for (const path of [
      'pets?limit=2',
      `pets/${id}`,
      `pets?id=${id}`,
      'store/orders',
      `store/orders/${order.id}`,
    ]) {
      const [first, second] = [await client(path), await client(path)];
      assert.deepEqual([first.isFromCache, second.isFromCache], [false, true]);
      assert.deepEqual([second.statusCode, second.body], [200, first.body]);
    }
    await client.patch(`pets/${id}`, { json: { name: 'changed' } });
    assert.equal((await client(`pets/${id}`).json()).name, 'changed');
  });
});
