import { expectError } from '../../support/expect-error';
import type { HttpResponse } from '../../support/http';

/** Expects 503 with the Error body, `Retry-After`, and the headers of every response under /v1. */
export function expectUnavailable(response: HttpResponse): void {
  expectError(response, 503, 'service_unavailable');
  expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(response.headers).toMatchObject({
    'x-request-id': expect.stringMatching(/\S/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
    'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
    'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
  });
}

/** True for a 503 that says that the request may or may not have taken effect. */
export function isOutcomeUnknown({ status, text }: Pick<HttpResponse, 'status' | 'text'>): boolean {
  return status === 503 && text.includes('may or may not have taken effect');
}

/** Expects `success` or 503, and the number of animals that the response tells. */
export function expectAsStored(response: HttpResponse, count: number, success = 201): void {
  expect([success, 503]).toContain(response.status);
  if (response.status === 503) expectUnavailable(response);
  if (isOutcomeUnknown(response)) expect(count).toBeLessThanOrEqual(1);
  else expect(count).toBe(response.status === 201 ? 1 : 0);
}
