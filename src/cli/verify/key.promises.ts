import type { ApiClient } from './api-client';
import { expectThat, type Faults, KEPT, successFaults } from './faults';
import { memberOf } from './json-value';
import { type ApiPromise, rejects } from './promise';

const PATH = '/key';

/** The facts of the key. The requests with a valid key count in no window. */
export const ownKey: readonly ApiPromise[] = [
  { name: 'GET /key answers 200 with the key, and the windows of its headers', check: describesKey },
  rejects('GET /key without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get(PATH, { authorization: null }),
  ),
];

/** Comes after the promise that uses up the minute. */
export const ownKeyExhausted: ApiPromise = {
  name: 'GET /key answers 200 while the limit is used up',
  check: async (api) => successFaults(await api.send('GET', PATH, { isRetried: false }), 200),
};

async function describesKey(api: ApiClient): Promise<Faults> {
  const response = await api.get(PATH);
  const faults = successFaults(response, 200);
  if (faults.length > 0) return faults;
  const limits = memberOf(response.body, 'limits');
  const left = ['minute', 'day'].map((name) => Number(memberOf(memberOf(limits, name), 'remaining')));
  const got = response.headers.get('x-ratelimit-remaining') ?? '';
  // A header that is missing or has another form breaks a promise of every response.
  if (!/^\d+$/.test(got)) return KEPT;
  const least = String(Math.min(...left));
  return expectThat(got === least, response.request, `X-RateLimit-Remaining: ${least}, as in the body`, got);
}
