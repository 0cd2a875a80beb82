import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import SwaggerClient from 'swagger-client';
import { startPrism } from './support/prism.mjs';
import { createKey, STAFF, url } from './support/service.mjs';

suite('swagger-client', () => {
  let client;
  let prism;
  before(async () => {
    prism = await startPrism();
    client = await SwaggerClient(`${url}/openapi.json`, {
      authorizations: { bearer: { value: await createKey('swagger-client', { scopes: STAFF }) } },
    });
    client.spec.servers = [{ url: prism.url }];
  });
  after(() => prism.stop());

  /** Calls an operation through a Prism proxy. An invalid request or response is 500, which throws. */
  async function call(operationId, parameters = {}, requestBody) {
    const response = await client.execute({ operationId, parameters, requestBody });
    assert.deepEqual(
      [new URL(response.url).origin, response.headers['sl-violations']],
      [prism.url, undefined],
    );
    return response;
  }

  /** Returns the example of a body. Without one it is made of those of its members. */
  function exampleOf({ example = null, enum: [first = example] = [], items, properties }) {
    if (items) return [exampleOf(items)];
    if (example !== null || !properties) return example ?? first;
    const members = Object.entries(properties).map(([name, each]) => [name, exampleOf(each)]);
    return Object.fromEntries(members.filter(([, value]) => value !== null));
  }

  /** Calls operations with the examples of the document. Those that create come first: the others need their ids. */
  async function callWithExamples(operations) {
    const creates = ({ responses }) => '201' in responses;
    const removes = ({ operationId }) => /^(delete|revoke)/.test(operationId);
    const order = (operation) => creates(operation) - removes(operation);
    const ids = {};
    for (const operation of operations.toSorted((one, other) => order(other) - order(one))) {
      const { operationId, tags, parameters = [], requestBody } = operation;
      const required = parameters.filter((each) => each.required);
      const values = Object.fromEntries(
        required.map(({ name, schema }) => {
          // The example of an event is one that every webhook has.
          const isKnown = /^(account|(?!event)\w+Id)$/.test(name);
          return [name, isKnown ? ids[name === 'account' ? 'accounts' : tags[0]] : schema.example];
        }),
      );
      const body = requestBody && exampleOf(requestBody.content['application/json'].schema);
      const { status, body: result } = await call(operationId, values, body);
      const wanted = Number(Object.keys(operation.responses)[0]);
      assert.deepEqual([operationId, status], [operationId, wanted]);
      ids[tags[0]] ??= result?.id ?? result?.name;
    }
  }

  test('calls every operation by its operationId, and a Prism proxy with --errors finds no violation', async () => {
    const created = await call('createPet', {}, { name: 'Rex', categoryId: 3 });
    const petId = created.body.id;
    const placed = await call('placeOrder', {}, { petId });
    const orderId = placed.body.id;
    const answers = {
      createPet: created,
      listPets: await call('listPets', { id: [petId, petId + 1], sort: '-id', status: 'pending' }),
      getPet: await call('getPet', { petId }),
      placeOrder: placed,
      listOrders: await call('listOrders', { limit: 1 }),
      getOrder: await call('getOrder', { orderId }),
      updateOrder: await call('updateOrder', { orderId }, { status: 'cancelled' }),
      updatePet: await call('updatePet', { petId, 'If-Match': created.headers.etag }, { name: 'Bello' }),
    };
    const { etag } = answers.updatePet.headers;
    answers.deletePet = await call('deletePet', { petId, 'If-Match': etag });
    const documented = Object.values(client.spec.paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ operationId }) => operationId);
    const others = documented.filter(({ operationId }) => !(operationId in answers));
    assert.equal(documented.length - others.length, Object.keys(answers).length);
    await callWithExamples(others);
    assert.deepEqual(
      Object.values(answers).map(({ status }) => status),
      [201, 200, 200, 201, 200, 200, 200, 200, 204],
    );
    assert.equal(answers.getPet.body.name, 'Rex');
    assert.equal(answers.updateOrder.body.status, 'cancelled');
    assert.deepEqual(
      answers.listPets.body.map(({ id }) => id),
      [petId],
    );
    assert.deepEqual(answers.updatePet.body, { ...created.body, name: 'Bello' });
  });
});
