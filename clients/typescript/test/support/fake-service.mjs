import { mock } from 'node:test';
import { createAnimalStore } from 'animal-store-client';

/** Half of each maximal jitter. */
const RANDOM = 0.5;

export const ADDRESS = 'https://api.example.com/v1';
export const PET = { id: 1, name: 'Rex', categoryId: 3, status: 'available' };

export const ok = (body = [], headers = {}) => new Response(JSON.stringify(body), { status: 200, headers });

export const rejection = (status, code, headers = {}) =>
  new Response(JSON.stringify({ code, message: `It is ${code}.`, status }), { status, headers });

export const lostConnection = () => new TypeError('fetch failed');

/**
 * Makes a client whose requests get these responses, one after the other; a function makes one from the request. Time
 * stands still, except that each wait of the client passes immediately.
 */
export function fakeService(responses, options = {}) {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  mock.method(Math, 'random', () => RANDOM);
  let elapsedMs = 0;
  mock.method(performance, 'now', () => elapsedMs);
  const queue = [...responses];
  const requests = [];
  const waits = [];
  const fetch = async (url, { method, headers, body, signal, cache }) => {
    requests.push({ method, url: String(url), headers: Object.fromEntries(headers), body, cache });
    const response = queue.shift();
    const result = typeof response === 'function' ? await response({ signal }) : response;
    if (result instanceof Error) throw result;
    return result;
  };
  const onWait = ({ delayMs }) => {
    waits.push(delayMs);
    setImmediate(() => {
      elapsedMs += delayMs;
      mock.timers.tick(delayMs);
    });
  };
  const retry = options.retry === false ? false : { onWait, ...options.retry };
  const store = createAnimalStore({ baseUrl: ADDRESS, key: 'ask_test_1', fetch, ...options, retry });
  return { store, requests, waits };
}
