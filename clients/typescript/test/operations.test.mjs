import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { createAnimalStore } from 'animal-store-client';
import { startStore } from './support/store.mjs';

const DOCUMENT = new URL('../../../openapi.json', import.meta.url);
const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8'));
const OPERATIONS = Object.values(paths).flatMap((path) =>
  Object.values(path).map((each) => each.operationId),
);

suite('the methods of the operations', () => {
  let service;
  before(async () => {
    service = await startStore({ WEBHOOKS_ALLOW_PRIVATE: 'true' });
  });
  after(() => service.stop());

  test('send each operation of the document, and get what it documents', async () => {
    const called = new Set();
    const key = await service.createKey('operator', { scopes: service.STAFF });
    const store = new Proxy(createAnimalStore({ baseUrl: service.baseUrl, key }), {
      get: (client, name) => (called.add(name), client[name]),
    });

    const rex = await store.createPet({ name: 'Rex', categoryId: 3n });
    await store.createPets({ items: [{ name: 'Bella', categoryId: 3n }] });
    assert.deepEqual(await store.getPet(rex.id), await store.updatePet(rex.id, { status: 'available' }));
    assert.equal((await store.listPets({ q: 'rex' }).toArray())[0].id, rex.id);
    assert.deepEqual(await store.getInventory(), { available: 2, pending: 0, sold: 0 });
    assert.equal((await store.listCategories().toArray())[0].categoryId, 3n);
    const order = await store.placeOrder({ petId: rex.id });
    await store.updateOrder(order.id, { status: 'cancelled' });
    assert.equal((await store.getOrder(order.id)).status, 'cancelled');
    assert.equal((await store.listOrders({ petId: rex.id }).toArray()).length, 1);
    await store.listEvents({ type: 'pet.created' }).toArray();

    const webhook = await store.createWebhook({ url: 'http://127.0.0.1:1/' });
    assert.equal((await store.getWebhook(webhook.id)).status, 'active');
    await store.updateWebhook(webhook.id, { status: 'disabled' });
    assert.match((await store.rotateWebhook(webhook.id, { graceSeconds: 0 })).secret, /^whsec_/);
    assert.equal((await store.testWebhook(webhook.id)).delivered, false);
    assert.equal((await store.getDeliveries(webhook.id))[0].error, 'The connection failed: ECONNREFUSED.');
    await assert.rejects(store.resendEvent(webhook.id, 1n), { code: 'event_not_found' });
    assert.equal((await store.listWebhooks().toArray()).length, 1);
    assert.equal(await store.deleteWebhook(webhook.id), undefined);

    const account = 'a/b ?';
    await store.createAccount({ name: account });
    await store.updateAccount(account, { plan: 'pro' });
    assert.equal((await store.getAccount(account)).plan, 'pro');
    const made = await store.createKey(account, { label: 'shop' });
    await store.updateKey(made.id, { label: 'web' });
    await store.rotateKey(made.id);
    await store.unbanKey(made.id);
    assert.equal((await store.getKeyById(made.id)).label, 'web');
    assert.equal((await store.listKeys(account).toArray()).length, 1);
    await store.revokeKey(made.id);
    assert.equal((await store.listAccounts().toArray()).length, 3);
    assert.equal((await store.listAudit({ account }).toArray()).length > 4, true);
    assert.deepEqual(await store.getUsage({ account }), []);
    assert.equal((await store.getKey()).account, 'operator');
    assert.equal((await store.listPets().toArray()).length, 2);
    assert.equal(
      await store.deletePet((await store.createPet({ name: 'Gone', categoryId: 1n })).id),
      undefined,
    );

    assert.deepEqual(
      OPERATIONS.filter((name) => !called.has(name)),
      [],
    );
  });
});
