import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { create } from 'axios';
import axiosRetry from 'axios-retry';
import ky from 'ky';
import pRetry from 'p-retry';
import { Agent, fetch as undiciFetch, RetryAgent } from 'undici';
import { packedClient } from './support/packed-client.mjs';
import { startRecorder } from './support/recorder.mjs';
import { createKey, FREE, listKeys, url } from './support/service.mjs';

const WORKERS = 20;
/** Together more than a Free key has in a minute. */
const REQUESTS = 5;
/** 100 strikes within five minutes are a ban, so a fleet with fewer in each minute is never banned. */
const MAX_STRIKES = 19;

const { createAnimalStore } = await import(packedClient);

/** Each makes a function that sends one request, with the retries that the client has by default. */
const clients = {
  'undici RetryAgent': () => {
    const dispatcher = new RetryAgent(new Agent());
    return (address, headers) => undiciFetch(address, { headers, dispatcher });
  },
  'ky 1': () => (address, headers) => ky.get(address, { headers }),
  'p-retry': () => (address, headers) =>
    pRetry(async () => {
      const response = await fetch(address, { headers });
      if (!response.ok) throw new Error(`status ${response.status}`);
      return response;
    }),
  'axios-retry': () => {
    const client = create();
    axiosRetry(client);
    return (address, headers) => client.get(address, { headers });
  },
  'animal-store-client, packed': () => (address, headers) => {
    const { origin, pathname, search } = new URL(address);
    const { request } = createAnimalStore({ baseUrl: origin, key: headers.authorization.split(' ')[1] });
    return request('GET', `${pathname}${search}`);
  },
};

/** Counts the strikes of docs/api-details.md ("Bans"): a 429, at most one a second. */
function countStrikes(answers) {
  let lastAt = 0;
  let strikes = 0;
  const rejected = answers.filter(({ status }) => status === 429).sort((one, other) => one.at - other.at);
  for (const { at } of rejected) {
    if (at - lastAt < 1_000) continue;
    lastAt = at;
    strikes += 1;
  }
  return strikes;
}

/** Takes a little more than one real minute, because the fleets run concurrently. */
suite(`${WORKERS} workers on one Free key, each with ${REQUESTS} requests`, { concurrency: true }, () => {
  for (const [name, makeClient] of Object.entries(clients)) {
    test(
      `${name}: no ban, and every request succeeds or gets no response in time`,
      { timeout: 200_000 },
      async (context) => {
        const account = `a fleet of ${name}`;
        const headers = { authorization: `Bearer ${await createKey(account, { plan: FREE })}` };
        const recorder = await startRecorder(url);
        context.after(recorder.close);
        const address = `${recorder.url}/v1/pets?limit=1`;
        const send = makeClient();
        const statuses = [];
        const work = async () => {
          for (let sent = 0; sent < REQUESTS; sent += 1) {
            const { status } = await send(address, headers).catch((error) => ({ status: error.name }));
            statuses.push(status);
          }
        };

        await Promise.all(Array.from({ length: WORKERS }, work));

        const rejected = recorder.answers.filter(({ status }) => status === 429);
        const givenUp = statuses.filter((status) => status !== 200);
        const strikes = countStrikes(recorder.answers);
        context.diagnostic(
          `${name}: ${rejected.length} responses were 429, ${strikes} strikes, ${givenUp.length} requests given up`,
        );
        assert.ok(strikes <= MAX_STRIKES);
        const [{ bannedUntil }] = await listKeys(account);
        assert.equal(bannedUntil, null);
        assert.equal(statuses.length, WORKERS * REQUESTS);
        // By default ky waits 10 s for a response and does not retry then. A loaded machine may need longer.
        const forAnotherReason = givenUp.filter((reason) => reason !== 'TimeoutError');
        assert.deepEqual(forAnotherReason, []);
      },
    );
  }
});
