import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { DOCUMENT, FOLDER } from './support/files.mjs';
import { run } from './support/program.mjs';
import { baseUrl, createKey, STAFF } from './support/service.mjs';

const GENERATED = join(FOLDER, 'generated', 'typed-client');

suite('openapi-typescript and openapi-fetch', () => {
  let client;
  before(async () => {
    rmSync(GENERATED, { recursive: true, force: true });
    mkdirSync(GENERATED, { recursive: true });
    await run('openapi-typescript', DOCUMENT, '--output', join(GENERATED, 'schema.d.ts'));
    await run('tsc', '--project', 'typed-client');
    client = await import('./generated/typed-client/js/typed-client/client.js');
  });

  test('a client generated from the document compiles with --strict and calls every operation of animals and orders', async () => {
    const key = await createKey('typed', { scopes: STAFF });
    assert.deepEqual(await client.callOwnOperations(baseUrl, key), {
      listPets: 200,
      createPet: 201,
      createPets: 201,
      getPet: 200,
      listOrders: 200,
      placeOrder: 201,
      getOrder: 200,
      updateOrder: 200,
      updatePet: 200,
      deletePet: 204,
    });
  });

  test('its types reject invalid requests, and an error response has the Error body', async () => {
    for (const error of await client.callWrongly(baseUrl)) {
      assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'status']);
      assert.equal(error.status, 401);
    }
  });
});
