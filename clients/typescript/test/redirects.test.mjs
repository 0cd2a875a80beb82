import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { createAnimalStore } from 'animal-store-client';

const NEW_PET = { name: 'Rex', categoryId: 3n };

/** Starts a server that notes the requests to it. */
async function listen(respond) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    respond(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, requests, address: `http://127.0.0.1:${server.address().port}` };
}

suite('a redirect, as a proxy may send it', () => {
  let other;
  before(async () => {
    other = await listen((_request, response) => response.end('[]'));
  });
  after(() => other.server.close());

  for (const status of [301, 302, 303, 307, 308]) {
    test(`with ${status} is an error: no request goes to the other address`, async () => {
      const { server, address, requests } = await listen((_request, response) =>
        response.writeHead(status, { location: `${other.address}/v1/pets` }).end(),
      );
      const store = createAnimalStore({ baseUrl: `${address}/v1`, key: 'ask_test_1' });
      await assert.rejects(store.pets.create(NEW_PET), {
        code: 'unexpected_response',
        status,
        message: /redirect.*baseUrl/,
      });
      assert.deepEqual([requests, other.requests], [['POST /v1/pets'], []]);
      server.close();
    });
  }
});
