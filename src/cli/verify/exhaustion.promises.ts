import type { ApiClient } from './api-client';
import { errorFaults, expectThat, type Faults } from './faults';
import { memberOf } from './json-value';
import type { ApiPromise } from './promise';
import { type ReceivedResponse, retryAfterOf } from './received-response';
import { UserError } from '../../platform/errors/user-error';

const MAX_LIMIT = 10_000;
const BATCH_SIZE = 10;
const TOO_MANY_REQUESTS = 429;
const CODES: readonly unknown[] = ['rate_limit_exceeded', 'daily_quota_exceeded'];

/** Specification, 8.4: the response when the rate limit of a key is used up. The first promise uses it up. */
export function exhaustion(): readonly ApiPromise[] {
  let rejection: Promise<ReceivedResponse> | undefined;
  const rejected = (api: ApiClient) => (rejection ??= useUpLimit(api));
  return [
    {
      name: 'a request over the limit answers 429 rate_limit_exceeded',
      check: async (api) => {
        const response = await rejected(api);
        const code = memberOf(response.body, 'code');
        return errorFaults(
          response,
          TOO_MANY_REQUESTS,
          CODES.includes(code) ? String(code) : String(CODES[0]),
        );
      },
    },
    {
      name: '429 carries Retry-After, not before X-RateLimit-Reset, and X-RateLimit-Remaining: 0',
      check: async (api) => retryFaults(await rejected(api)),
    },
  ];
}

/** Sends requests until the response is 429; in concurrent batches, so that the minute does not end first. */
async function useUpLimit(api: ApiClient): Promise<ReceivedResponse> {
  const first = await api.send('GET', '/pets?limit=1', { isRetried: false });
  const limit = Number(first.headers.get('x-ratelimit-limit'));
  if (limit > MAX_LIMIT) {
    throw new UserError(
      `The limit of ${limit} requests is too large for --exhaust. Use a key of a smaller plan.`,
    );
  }
  let last = first;
  for (
    let sent = 1;
    sent <= 2 * limit + BATCH_SIZE && last.status !== TOO_MANY_REQUESTS;
    sent += BATCH_SIZE
  ) {
    const batch = Array.from({ length: BATCH_SIZE }, () =>
      api.send('GET', '/pets?limit=1', { isRetried: false }),
    );
    const responses = await Promise.all(batch);
    last = responses.find(({ status }) => status === TOO_MANY_REQUESTS) ?? last;
  }
  return last;
}

function retryFaults(response: ReceivedResponse): Faults {
  const { at, headers, request } = response;
  const after = retryAfterOf(response);
  const reset = Number(headers.get('x-ratelimit-reset'));
  const remaining = headers.get('x-ratelimit-remaining');
  return [
    ...expectThat(after !== undefined, request, 'Retry-After in whole seconds', headers.get('retry-after')),
    // `Date` is rounded down to the second.
    ...expectThat(
      after === undefined || at + 1 + after >= reset,
      request,
      `Retry-After of at least ${reset - at} s`,
      after,
    ),
    ...expectThat(remaining === '0', request, 'X-RateLimit-Remaining: 0', remaining),
  ];
}
