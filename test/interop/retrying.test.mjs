import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import ky from 'ky';
import { bundleScenarios, openPage } from '../../clients/typescript/test/support/page.mjs';
import { findChromium } from './support/find-program.mjs';
import { packedClient } from './support/packed-client.mjs';
import { startRecorder } from './support/recorder.mjs';
import { createKey, FREE, FREE_PER_MINUTE, url } from './support/service.mjs';

/** Maximal difference between the clocks of timers and of performance.now(). */
const TIMER_SLACK_MS = 20;

const { createAnimalStore } = await import(packedClient);
const headersOf = (key) => ({ authorization: `Bearer ${key}` });

/** Each makes a function that sends one request for a page. fleets.test.mjs has other clients. */
const clients = {
  'animal-store-client, packed': ({ origin }, key) => {
    const { request } = createAnimalStore({ baseUrl: `${origin}/v1`, key });
    return () => request('GET', '/pets', { query: { limit: 1 } });
  },
  'animal-store-client, packed, in Chromium': async ({ origin }, key, context) => {
    const page = await openPage(`${origin}/livez`, await bundleScenarios(packedClient));
    context.after(page.close);
    return async () => {
      await page.run('waitForAPage', { baseUrl: '/v1', key });
      return { status: 200 };
    };
  },
  'ky 1': (address, key) => () => ky.get(address, { headers: headersOf(key) }),
};

/** Takes one real minute, because the clients run concurrently. */
suite('a client retries a 429 after Retry-After and succeeds', { concurrency: true }, () => {
  for (const [name, open] of Object.entries(clients)) {
    const isInChromium = name.endsWith('Chromium');
    const skip = isInChromium && findChromium() === undefined && 'needs Chromium, or CHROMIUM_PATH';
    test(name, { timeout: 150_000, skip }, async (context) => {
      const key = await createKey(name, { plan: FREE });
      const recorder = await startRecorder(url);
      context.after(recorder.close);
      const address = new URL(`${recorder.url}/v1/pets?limit=1`);
      const get = await open(address, key, context);
      const headers = headersOf(key);
      await Promise.all(Array.from({ length: FREE_PER_MINUTE }, () => fetch(address, { headers })));
      recorder.answers.length = 0;

      const { status } = await get();

      assert.equal(status, 200);
      // Chromium also requests an icon.
      const answers = recorder.answers.filter(({ path }) => path.startsWith('/v1/'));
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [429, 200],
      );
      const [rejected, admitted] = answers;
      const waitedMs = admitted.at - rejected.answeredAt;
      assert.ok(Number(rejected.retryAfter) > 30, `Retry-After was ${rejected.retryAfter}`);
      assert.ok(waitedMs >= Number(rejected.retryAfter) * 1_000 - TIMER_SLACK_MS, `waited ${waitedMs} ms`);
    });
  }
});
