import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import SwaggerClient from 'swagger-client';
import { createKey, url } from './support/service.mjs';

suite('swagger-client', () => {
  let client;
  before(async () => {
    client = await SwaggerClient(`${url}/openapi.json`, {
      authorizations: { bearer: { value: await createKey('swagger-client') } },
    });
  });

  const call = (operationId, parameters = {}, requestBody) =>
    client.execute({ operationId, parameters, requestBody });

  test('calls every operation of the document by its operationId', async () => {
    const created = await call('createPet', {}, { name: 'Rex', categoryId: 3 });
    const petId = created.body.id;
    const placed = await call('placeOrder', {}, { petId });
    const orderId = placed.body.id;
    const answers = {
      createPet: created,
      listPets: await call('listPets', { limit: 2, status: 'pending' }),
      getPet: await call('getPet', { petId }),
      placeOrder: placed,
      listOrders: await call('listOrders', { limit: 1 }),
      getOrder: await call('getOrder', { orderId }),
      updateOrder: await call('updateOrder', { orderId }, { status: 'cancelled' }),
    };
    const documented = Object.values(client.spec.paths).flatMap((methods) =>
      Object.values(methods)
        .map((operation) => operation.operationId)
        .filter(Boolean),
    );
    assert.deepEqual(new Set(documented), new Set(Object.keys(answers)));
    assert.deepEqual(
      Object.values(answers).map(({ status }) => status),
      [201, 200, 200, 201, 200, 200, 200],
    );
    assert.equal(answers.getPet.body.name, 'Rex');
    assert.equal(answers.updateOrder.body.status, 'cancelled');
  });
});
