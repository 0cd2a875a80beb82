import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { create } from 'axios';
import axiosRetry, { exponentialDelay } from 'axios-retry';
import ky from 'ky';
import { Agent, fetch as undiciFetch, RetryAgent } from 'undici';
import { startRecorder } from './support/recorder.mjs';
import { createKey, url } from './support/service.mjs';

const PER_MINUTE = 5;
const PLAN = ['--plan', 'enterprise', '--per-minute', String(PER_MINUTE), '--per-day', '1000'];
/** Maximal difference between the clocks of timers and of performance.now(). */
const TIMER_SLACK_MS = 20;

const clients = {
  'ky 1': (address, headers) => ky.get(address, { headers, retry: { limit: 3 } }),
  'axios-retry': (address, headers) => {
    const client = create();
    const retryCondition = ({ response }) => response?.status === 429;
    axiosRetry(client, { retries: 3, retryDelay: exponentialDelay, retryCondition });
    return client.get(address, { headers });
  },
  'undici RetryAgent': (address, headers) =>
    // Its default limits Retry-After to 30 s.
    undiciFetch(address, { headers, dispatcher: new RetryAgent(new Agent(), { maxTimeout: 120_000 }) }),
};

/** Takes one real minute, because the clients run concurrently. */
suite('a client retries a 429 after Retry-After and succeeds', { concurrency: true }, () => {
  for (const [name, get] of Object.entries(clients)) {
    test(name, { timeout: 150_000 }, async () => {
      const key = await createKey(name, { plan: PLAN });
      const headers = { authorization: `Bearer ${key}` };
      const recorder = await startRecorder(url);
      const address = `${recorder.url}/v1/pets?limit=1`;
      for (let sent = 0; sent < PER_MINUTE; sent += 1) await fetch(address, { headers });
      recorder.answers.length = 0;

      const { status } = await get(address, headers);

      recorder.close();
      assert.equal(status, 200);
      assert.deepEqual(
        recorder.answers.map((answer) => answer.status),
        [429, 200],
      );
      const [rejected, admitted] = recorder.answers;
      const waitedMs = admitted.at - rejected.answeredAt;
      assert.ok(Number(rejected.retryAfter) > 30, `Retry-After was ${rejected.retryAfter}`);
      assert.ok(waitedMs >= Number(rejected.retryAfter) * 1_000 - TIMER_SLACK_MS, `waited ${waitedMs} ms`);
    });
  }
});
