import { type Answer, retryAfterOf } from './answer';
import type { ApiClient } from './api-client';
import { errorFaults, expectThat, type Faults } from './faults';
import { memberOf } from './json-value';
import type { ApiPromise } from './promise';
import { VerifyError } from './verify.error';

const LARGEST_LIMIT = 10_000;
const AT_ONCE = 10;
const TOO_MANY_REQUESTS = 429;
const CODES: readonly unknown[] = ['rate_limit_exceeded', 'daily_quota_exceeded'];

/** Specification, 8.4: what a key finds when its window is spent; the first of these promises spends it. */
export function exhaustion(): readonly ApiPromise[] {
  let spent: Promise<Answer> | undefined;
  const refused = (api: ApiClient) => (spent ??= spend(api));
  return [
    {
      name: 'a request over the limit answers 429 rate_limit_exceeded',
      check: async (api) => {
        const answer = await refused(api);
        const code = memberOf(answer.body, 'code');
        return errorFaults(answer, TOO_MANY_REQUESTS, CODES.includes(code) ? String(code) : String(CODES[0]));
      },
    },
    {
      name: '429 carries Retry-After, not before X-RateLimit-Reset, and X-RateLimit-Remaining: 0',
      check: async (api) => retryFaults(await refused(api)),
    },
  ];
}

/** Sends requests until one is refused; some at once, so that the minute does not pass meanwhile. */
async function spend(api: ApiClient): Promise<Answer> {
  const first = await api.send('GET', '/pets?limit=1', { isPatient: false });
  const limit = Number(first.headers.get('x-ratelimit-limit'));
  if (limit > LARGEST_LIMIT) {
    throw new VerifyError(`A limit of ${limit} is too large to be spent: give --exhaust a smaller plan.`);
  }
  let last = first;
  for (let sent = 1; sent <= 2 * limit + AT_ONCE && last.status !== TOO_MANY_REQUESTS; sent += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, () =>
      api.send('GET', '/pets?limit=1', { isPatient: false }),
    );
    const answers = await Promise.all(batch);
    last = answers.find(({ status }) => status === TOO_MANY_REQUESTS) ?? last;
  }
  return last;
}

function retryFaults(answer: Answer): Faults {
  const { at, headers, request } = answer;
  const after = retryAfterOf(answer);
  const reset = Number(headers.get('x-ratelimit-reset'));
  const remaining = headers.get('x-ratelimit-remaining');
  return [
    ...expectThat(after !== undefined, request, 'Retry-After in whole seconds', headers.get('retry-after')),
    // Date is cut to the second.
    ...expectThat(
      after === undefined || at + 1 + after >= reset,
      request,
      `Retry-After of ${reset - at} s at least`,
      after,
    ),
    ...expectThat(remaining === '0', request, 'X-RateLimit-Remaining: 0', remaining),
  ];
}
