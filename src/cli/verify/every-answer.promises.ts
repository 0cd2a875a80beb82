import type { Answer } from './answer';
import type { ApiClient } from './api-client';
import { errorBodyFaults, expectThat, type Faults, jsonTypeFaults } from './faults';
import type { ApiPromise } from './promise';

const FIRST_ERROR = 400;
const DAY_SECONDS = 86_400;
/** Two clocks, and the way between them. */
const SKEW_SECONDS = 5;
const WHOLE_NUMBER = /^\d+$/;

/** Specification, 7 and 8.3: about every answer that came before, so these stand at the end. */
export const everyAnswer: readonly ApiPromise[] = [
  ofEach('every error has a body of exactly code, message and status', (answer) =>
    answer.status < FIRST_ERROR ? [] : errorBodyFaults(answer),
  ),
  ofEach('every answer is application/json', jsonTypeFaults),
  ofEach('every answer carries X-RateLimit-Limit, a whole number', (answer) =>
    wholeNumberFaults(answer, 'X-RateLimit-Limit'),
  ),
  ofEach('every answer carries X-RateLimit-Remaining, a whole number up to the limit', remainingFaults),
  ofEach('every answer carries X-RateLimit-Reset, a Unix time to come within a day', resetFaults),
  ofEach('every answer carries X-Request-Id and X-Content-Type-Options: nosniff', identityFaults),
  ofEach('every answer carries Cache-Control: no-store', ({ headers, request, status }) => {
    const control = headers.get('cache-control');
    return expectThat(
      /\bno-store\b/.test(control ?? ''),
      `${request} (${status})`,
      'Cache-Control: no-store',
      control,
    );
  }),
];

/** Of many answers with the same fault the first is named. */
function ofEach(name: string, faultsOf: (answer: Answer) => Faults): ApiPromise {
  return {
    name,
    check: async ({ answers }: ApiClient) => {
      const wrong = answers.map(faultsOf).filter((faults) => faults.length > 0);
      const others = wrong.length > 1 ? [`and ${wrong.length - 1} more answers`] : [];
      return [...(wrong[0] ?? []), ...others];
    },
  };
}

function wholeNumberFaults({ headers, request, status }: Answer, name: string): Faults {
  const value = headers.get(name);
  return expectThat(
    WHOLE_NUMBER.test(value ?? ''),
    `${request} (${status})`,
    `${name}: a whole number`,
    value,
  );
}

function remainingFaults(answer: Answer): Faults {
  const { headers, request, status } = answer;
  const notWhole = wholeNumberFaults(answer, 'X-RateLimit-Remaining');
  if (notWhole.length > 0) return notWhole;
  const remaining = Number(headers.get('x-ratelimit-remaining'));
  const limit = Number(headers.get('x-ratelimit-limit') ?? Infinity);
  return expectThat(
    remaining <= limit,
    `${request} (${status})`,
    `X-RateLimit-Remaining up to ${limit}`,
    remaining,
  );
}

function resetFaults(answer: Answer): Faults {
  const { at, headers, request, status } = answer;
  const notWhole = wholeNumberFaults(answer, 'X-RateLimit-Reset');
  if (notWhole.length > 0) return notWhole;
  const secondsAhead = Number(headers.get('x-ratelimit-reset')) - at;
  return expectThat(
    secondsAhead >= -SKEW_SECONDS && secondsAhead <= DAY_SECONDS + SKEW_SECONDS,
    `${request} (${status})`,
    `X-RateLimit-Reset: a Unix time from ${at} to ${at + DAY_SECONDS}`,
    headers.get('x-ratelimit-reset'),
  );
}

function identityFaults({ headers, request, status }: Answer): Faults {
  const id = headers.get('x-request-id');
  const sniffing = headers.get('x-content-type-options');
  return [
    ...expectThat((id ?? '') !== '', `${request} (${status})`, 'X-Request-Id', id),
    ...expectThat(
      sniffing === 'nosniff',
      `${request} (${status})`,
      'X-Content-Type-Options: nosniff',
      sniffing,
    ),
  ];
}
