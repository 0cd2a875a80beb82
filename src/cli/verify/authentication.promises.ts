import type { ApiClient } from './api-client';
import { expectThat, type Faults } from './faults';
import { type ApiPromise, refuses } from './promise';

const WITHOUT_KEY = { authorization: null };
const WITH_WRONG_KEY = { authorization: 'Bearer not-a-key' };
/** Not read, because the key comes first. */
const NOT_JSON = '{"name":';

/** Specification, 5: every operation needs a key; what is missing or wrong is 401. */
export const authentication: readonly ApiPromise[] = [
  refuses('GET /pets without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/pets', WITHOUT_KEY),
  ),
  refuses(
    'POST /pets without a key answers 401 missing_api_key, whatever the body',
    401,
    'missing_api_key',
    (api) => api.post('/pets', NOT_JSON, WITHOUT_KEY),
  ),
  refuses('GET /pets/{petId} without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/pets/1', WITHOUT_KEY),
  ),
  refuses('GET /store/orders without a key answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/store/orders', WITHOUT_KEY),
  ),
  refuses('another scheme than Bearer answers 401 missing_api_key', 401, 'missing_api_key', (api) =>
    api.get('/pets', { authorization: 'Basic dXNlcjpzZWNyZXQ=' }),
  ),
  refuses('a wrong key answers 401 invalid_api_key', 401, 'invalid_api_key', (api) =>
    api.get('/pets', WITH_WRONG_KEY),
  ),
  { name: '401 carries WWW-Authenticate: Bearer, for a wrong key with invalid_token', check: challenge },
];

/** RFC 6750, 3: the error is named only where a key was sent. */
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
