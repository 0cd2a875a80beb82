import type { ApiClient } from './api-client';
import { documentedFaults, documentedFaultsIf, expectThat, type Faults, KEPT } from './faults';
import type { ApiPromise } from './promise';
import type { ReceivedResponse } from './received-response';

const MIN_ERROR_STATUS = 400;
const DAY_SECONDS = 86_400;
/** Allowed difference between two clocks, transfer time included. */
const MAX_SKEW_SECONDS = 5;

/** Parts of a response that have a promise of their own. */
const NAMED_PARTS = new Set([
  'status',
  'body',
  'content-type',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
  'x-content-type-options',
  'cache-control',
]);

/** Specification, 7 and 8.3. These check every response that was received before, so they run last. */
export const everyResponse: readonly ApiPromise[] = [
  ofEach(
    'every error has a body of exactly code, message and status, or problem details where Accept prefers them',
    (response) => (response.status < MIN_ERROR_STATUS ? KEPT : documentedFaults(response, 'body')),
  ),
  ofEach(
    'every answer is application/json, or application/problem+json where Accept prefers it',
    (response) => documentedFaults(response, 'content-type'),
  ),
  ofEach('every answer carries X-RateLimit-Limit, a whole number', (response) =>
    documentedFaults(response, 'x-ratelimit-limit'),
  ),
  ofEach('every answer carries X-RateLimit-Remaining, a whole number up to the limit', remainingFaults),
  ofEach('every answer carries X-RateLimit-Reset, a Unix time to come within a day', resetFaults),
  ofEach('every answer carries X-Request-Id and X-Content-Type-Options: nosniff', (response) =>
    documentedFaults(response, 'x-request-id', 'x-content-type-options'),
  ),
  ofEach(
    'every answer carries Cache-Control: private, no-cache on a 200 or 304 with an ETag, otherwise no-store',
    cacheFaults,
  ),
  ofEach('every other header is as the OpenAPI document describes it', (response) =>
    documentedFaultsIf(response, (part) => !NAMED_PARTS.has(part)),
  ),
];

/** Makes a promise about every response. Only the faults of the first faulty response are listed. */
function ofEach(name: string, faultsOf: (response: ReceivedResponse) => Faults): ApiPromise {
  return {
    name,
    check: async ({ responses }: ApiClient) => {
      const wrong = responses.map(faultsOf).filter((faults) => faults.length > 0);
      const others = wrong.length > 1 ? [`and ${wrong.length - 1} more responses`] : [];
      return [...(wrong[0] ?? []), ...others];
    },
  };
}

function remainingFaults(response: ReceivedResponse): Faults {
  const undocumented = documentedFaults(response, 'x-ratelimit-remaining');
  if (undocumented.length > 0) return undocumented;
  const { headers, request, status } = response;
  const remaining = Number(headers.get('x-ratelimit-remaining'));
  const limit = Number(headers.get('x-ratelimit-limit') ?? Infinity);
  return expectThat(
    remaining <= limit,
    `${request} (${status})`,
    `X-RateLimit-Remaining up to ${limit}`,
    remaining,
  );
}

function resetFaults(response: ReceivedResponse): Faults {
  const undocumented = documentedFaults(response, 'x-ratelimit-reset');
  if (undocumented.length > 0) return undocumented;
  const { at, headers, request, status } = response;
  const secondsAhead = Number(headers.get('x-ratelimit-reset')) - at;
  return expectThat(
    secondsAhead >= -MAX_SKEW_SECONDS && secondsAhead <= DAY_SECONDS + MAX_SKEW_SECONDS,
    `${request} (${status})`,
    `X-RateLimit-Reset: a Unix time from ${at} to ${at + DAY_SECONDS}`,
    headers.get('x-ratelimit-reset'),
  );
}

function cacheFaults({ headers, request, status }: ReceivedResponse): Faults {
  const isTagged = (status === 200 || status === 304) && headers.has('etag');
  const wanted = isTagged ? 'private, no-cache' : 'no-store';
  const got = headers.get('cache-control');
  return expectThat(got === wanted, `${request} (${status})`, `Cache-Control: ${wanted}`, got);
}
