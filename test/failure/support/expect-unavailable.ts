import { expectError } from '../../support/expect-error';
import type { Answer } from '../../support/http';

/** 503 as promised: the Error body, when to come back, and the headers that every response under /v1 has. */
export function expectUnavailable(answer: Answer): void {
  expectError(answer, 503, 'service_unavailable');
  expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(answer.headers).toMatchObject({
    'x-request-id': expect.stringMatching(/\S/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
    'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
    'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
  });
}

/** The service says of a 503 when it cannot say whether the work is done. */
export function isOutcomeUnknown({ status, text }: Pick<Answer, 'status' | 'text'>): boolean {
  return status === 503 && text.includes('may be done or not');
}
