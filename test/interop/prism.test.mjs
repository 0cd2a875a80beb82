import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { startPrism } from './support/prism.mjs';
import { createKey, STAFF } from './support/service.mjs';

/** Prism accepts only integers that a double represents exactly. */
const UNKNOWN = '/pets/9007199254740991';

/** Sends one request through the proxy. The response must be the service's own, without violations. */
async function ask(prism, key, status, method, path, { body, headers } = {}) {
  const request = { method, headers: { ...headers } };
  if (key !== undefined) request.headers.authorization = `Bearer ${key}`;
  if (body !== undefined) {
    request.headers['content-type'] ??= 'application/json';
    request.body = typeof body === 'string' ? body : JSON.stringify(body);
  }
  const response = await fetch(`${prism.url}${path}`, request);
  const answer = status === 204 ? undefined : await response.json();
  const where = `${method} ${path}: ${JSON.stringify(answer)}`;
  assert.equal(response.headers.get('sl-violations'), null, where);
  assert.equal(response.status, status, where);
  return answer;
}

suite('a Prism proxy with --errors finds no violation', () => {
  let key;
  before(async () => {
    key = await createKey('prism', { scopes: STAFF });
  });

  test('in any operation, including the requests', async (context) => {
    const prism = await startPrism();
    context.after(prism.stop);
    const call = (...request) => ask(prism, key, ...request);

    const pet = await call(201, 'POST', '/pets', { body: { name: 'Rex', categoryId: 3 } });
    await call(201, 'POST', '/pets', { body: { name: 'Žofie 🐈', categoryId: -1, status: 'sold' } });
    await call(200, 'GET', '/pets?limit=1&status=available');
    await call(200, 'GET', `/pets/${pet.id}`);
    const once = { body: { petId: pet.id }, headers: { 'idempotency-key': `prism-${pet.id}` } };
    const order = await call(201, 'POST', '/store/orders', once);
    assert.deepEqual(await call(201, 'POST', '/store/orders', once), order);
    await call(200, 'GET', '/store/orders?limit=1&status=placed');
    await call(200, 'GET', `/store/orders/${order.id}`);
    for (const status of ['approved', 'delivered']) {
      await call(200, 'PATCH', `/store/orders/${order.id}`, { body: { status } });
    }
    await call(200, 'GET', '/store/orders?account=*&sort=-id');
    await call(200, 'GET', `/pets?id=${pet.id}&id=1&categoryId=3&status=sold&sort=-id`);
    await call(200, 'PATCH', `/pets/${pet.id}`, { body: { name: 'Bello' }, headers: { 'if-match': '*' } });
    await call(204, 'DELETE', `/pets/${pet.id}`, { headers: { 'if-match': '*' } });
  });

  test('in any error response', async (context) => {
    // This test sends requests that the document forbids.
    const prism = await startPrism('--validate-request=false');
    context.after(prism.stop);
    const call = (...request) => ask(prism, key, ...request);
    const pet = { name: 'Rex', categoryId: 3 };

    for (const query of ['limit=0', 'limit=101', 'status=gone', 'cursor=invented']) {
      await call(400, 'GET', `/pets?${query}`);
      await call(400, 'GET', `/store/orders?${query}`);
    }
    for (const body of [{}, { name: 'Rex' }, { ...pet, name: '' }, { ...pet, categoryId: '3' }, '{']) {
      await call(400, 'POST', '/pets', { body });
    }
    await call(400, 'POST', '/pets', { body: pet, headers: { 'idempotency-key': '"' } });
    await call(400, 'POST', '/store/orders', { body: { petId: 'rex' } });
    await call(413, 'POST', '/pets', { body: { ...pet, note: 'x'.repeat(70_000) } });
    await call(415, 'POST', '/pets', { body: 'name=Rex', headers: { 'content-type': 'text/plain' } });
    await call(404, 'GET', UNKNOWN);
    await call(404, 'PATCH', UNKNOWN, { body: { name: 'Bello' } });
    await call(404, 'DELETE', UNKNOWN);
    await call(404, 'GET', '/store/orders/9007199254740991');
    await call(404, 'POST', '/store/orders', { body: { petId: 9007199254740991 } });
    await call(404, 'PATCH', '/store/orders/9007199254740991', { body: { status: 'approved' } });

    const { id } = await call(201, 'POST', '/pets', { body: pet });
    const order = await call(201, 'POST', '/store/orders', { body: { petId: id } });
    await call(409, 'POST', '/store/orders', { body: { petId: id } });
    await call(409, 'PATCH', `/store/orders/${order.id}`, { body: { status: 'delivered' } });
    await call(409, 'PATCH', `/pets/${id}`, { body: { status: 'sold' } });
    await call(409, 'DELETE', `/pets/${id}`);
    for (const body of [{}, { name: '' }, { status: 'gone' }]) {
      await call(400, 'PATCH', `/pets/${id}`, { body });
    }
    const stale = { 'if-match': '"stale"' };
    await call(412, 'PATCH', `/pets/${id}`, { body: { name: 'Bello' }, headers: stale });
    await call(412, 'DELETE', `/pets/${id}`, { headers: stale });
    await call(412, 'PATCH', `/store/orders/${order.id}`, { body: { status: 'cancelled' }, headers: stale });
    await call(400, 'PATCH', `/store/orders/${order.id}`, { body: { status: 'lost' } });
    const headers = { 'idempotency-key': `rejected-${id}` };
    await call(201, 'POST', '/pets', { body: pet, headers });
    await call(422, 'POST', '/pets', { body: { ...pet, name: 'Bello' }, headers });

    const powerless = await createKey('powerless', { scopes: ['--scopes', 'orders:read'] });
    const buyer = await createKey('buyer');
    // The day also limits it, so that these requests may take longer than a minute.
    const plan = ['--plan', 'enterprise', '--per-minute', '1', '--per-day', '1'];
    const spent = await createKey('spent', { plan });
    await ask(prism, spent, 200, 'GET', '/pets');
    await ask(prism, buyer, 403, 'PATCH', `/store/orders/${order.id}`, { body: { status: 'approved' } });
    await ask(prism, buyer, 403, 'GET', '/store/orders?account=*');
    const operations = [
      ['GET', '/pets'],
      ['POST', '/pets', { body: pet }],
      ['GET', UNKNOWN],
      ['PATCH', UNKNOWN, { body: { name: 'Bello' } }],
      ['DELETE', UNKNOWN],
      ['GET', '/store/orders'],
      ['POST', '/store/orders', { body: { petId: id } }],
      ['GET', `/store/orders/${order.id}`],
      ['PATCH', `/store/orders/${order.id}`, { body: { status: 'approved' } }],
    ];
    for (const operation of operations) {
      await ask(prism, undefined, 401, ...operation);
      await ask(prism, 'not-a-key', 401, ...operation);
      await ask(prism, spent, 429, ...operation);
      const isAllowed = operation[0] === 'GET' && operation[1].startsWith('/store');
      if (!isAllowed) await ask(prism, powerless, 403, ...operation);
    }
  });
});
