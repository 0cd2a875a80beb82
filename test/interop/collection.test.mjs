import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import newman from 'newman';
import { baseUrl, createKey, STAFF, url } from './support/service.mjs';

suite('newman 6, the runner of Postman, with /collection.json', () => {
  test('each request succeeds as it is sent, also when all are sent again', async () => {
    const collection = await (await fetch(`${url}/collection.json`)).json();
    const apiKey = await createKey('collection', { scopes: STAFF });
    const { paths } = await (await fetch(`${url}/openapi.json`)).json();
    const operations = Object.values(paths).flatMap((item) =>
      Object.values(item).map(({ summary }) => summary),
    );
    for (let time = 0; time < 2; time += 1) {
      const { run } = await runCollection(collection, { apiKey, baseUrl });
      const failures = run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`);
      assert.deepEqual(failures, []);
      assert.deepEqual(new Set(run.executions.map(({ item }) => item.name)), new Set(operations));
      const statuses = run.executions.map(({ item, response }) => [item.name, response.code < 300]);
      assert.deepEqual(
        statuses.filter(([, isGood]) => !isGood),
        [],
      );
      // The name of the created account has the second.
      await sleep(1_000);
    }
  });

  test('a key with few scopes gets 403 where it lacks one, and the rest succeeds', async () => {
    const collection = await (await fetch(`${url}/collection.json`)).json();
    const { run } = await runCollection(collection, { apiKey: await createKey('few'), baseUrl });
    const codes = run.executions.map(({ response }) => response.code);
    assert.deepEqual(new Set(codes), new Set([200, 201, 403]));
  });
});

function runCollection(collection, values) {
  const envVar = Object.entries(values).map(([key, value]) => ({ key, value }));
  return new Promise((resolve, reject) => {
    newman.run({ collection, envVar }, (error, summary) => (error ? reject(error) : resolve(summary)));
  });
}
