import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPrism } from './support/prism.mjs';
import { addPet, createKey, STAFF } from './support/service.mjs';

/** Prism accepts only integers that a double represents exactly. */
const UNKNOWN = '/pets/9007199254740991';
const PET = { name: 'Rex', categoryId: 3 };

// swagger-client sends every operation through the proxy.
test('a Prism proxy with --errors finds no violation in an error response of each status', async (context) => {
  // The document forbids some of these requests.
  const prism = await startPrism('--validate-request=false');
  context.after(prism.stop);
  const key = await createKey('prism', { scopes: STAFF });

  /** Sends a request. The response must be the service's own, without violations. */
  async function ask(status, method, path, { sender = key, body, headers } = {}) {
    const type = body && { 'content-type': 'application/json' };
    const request = { method, headers: { ...type, ...headers } };
    if (sender) request.headers.authorization = `Bearer ${sender}`;
    if (body) request.body = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${prism.url}${path}`, request);
    const where = `${method} ${path}: ${await response.text()}`;
    assert.deepEqual([response.status, response.headers.get('sl-violations')], [status, null], where);
  }

  const petId = await addPet(key);
  const reader = await createKey('reader', { scopes: ['--scopes', 'orders:read'] });
  // The day also limits it, so that these requests may take longer than a minute.
  const plan = ['--plan', 'enterprise', '--per-minute', '1', '--per-day', '1'];
  const spent = await createKey('spent', { plan });
  const once = { 'idempotency-key': `prism-${petId}` };
  await ask(200, 'GET', '/pets', { sender: spent });
  await ask(201, 'POST', '/store/orders', { body: { petId }, headers: once });
  await ask(400, 'GET', '/store/orders?cursor=invented');
  for (const body of [{}, '{']) await ask(400, 'POST', '/pets', { body });
  for (const sender of ['', 'not-a-key']) await ask(401, 'PATCH', UNKNOWN, { sender, body: PET });
  await ask(403, 'DELETE', UNKNOWN, { sender: reader });
  await ask(404, 'GET', UNKNOWN);
  await ask(404, 'POST', '/store/orders', { body: { petId: 9007199254740991 } });
  await ask(409, 'POST', '/store/orders', { body: { petId } });
  await ask(412, 'PATCH', `/pets/${petId}`, { body: { name: 'Bello' }, headers: { 'if-match': '"stale"' } });
  await ask(413, 'POST', '/pets', { body: { ...PET, note: 'x'.repeat(70_000) } });
  await ask(415, 'POST', '/pets', { body: 'name=Rex', headers: { 'content-type': 'text/plain' } });
  await ask(422, 'POST', '/store/orders', { body: { petId: 0 }, headers: once });
  for (const path of ['/pets', UNKNOWN]) await ask(429, 'GET', path, { sender: spent });
});
