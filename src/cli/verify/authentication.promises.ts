import type { ApiClient } from './api-client';
import { expectThat, type Faults } from './faults';
import { type ApiPromise, rejects } from './promise';

const WITHOUT_KEY = { authorization: null };
const WITH_WRONG_KEY = { authorization: 'Bearer not-a-key' };
/** Not parsed, because the key is checked before the body. */
const NOT_JSON = '{"name":';

/** Specification, 5: every operation needs a key; a missing or wrong key is 401. */
export const authentication: readonly ApiPromise[] = [
  rejects('GET /pets without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/pets', WITHOUT_KEY),
  ),
  rejects(
    'POST /pets without a key answers 401 missing_api_key, even if the body is not JSON',
    401,
    'missing_api_key',
    (api) => api.post('/pets', NOT_JSON, WITHOUT_KEY),
  ),
  rejects('GET /pets/{petId} without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/pets/1', WITHOUT_KEY),
  ),
  rejects('GET /store/orders without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/store/orders', WITHOUT_KEY),
  ),
  rejects('another scheme than Bearer answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/pets', { authorization: 'Basic dXNlcjpzZWNyZXQ=' }),
  ),
  rejects('a wrong key answers 401 invalid_api_key', 401, 'invalid_api_key', (api) =>
    api.get('/pets', WITH_WRONG_KEY),
  ),
  { name: '401 carries WWW-Authenticate: Bearer, for a wrong key with invalid_token', check: challenge },
];

/** Checks the challenge (RFC 6750, 3), which has `error` only if the request had a key. */
async function challenge(api: ApiClient): Promise<Faults> {
  const missing = (await api.get('/pets', WITHOUT_KEY)).headers.get('www-authenticate');
  const wrong = (await api.get('/pets', WITH_WRONG_KEY)).headers.get('www-authenticate');
  return [
    ...expectThat(/^Bearer\b/i.test(missing ?? ''), 'without a key', 'WWW-Authenticate: Bearer', missing),
    ...expectThat(
      /^Bearer\b.*error="invalid_token"/i.test(wrong ?? ''),
      'with a wrong key',
      'WWW-Authenticate: Bearer … error="invalid_token"',
      wrong,
    ),
  ];
}
