import type { TestApp } from '../../support/app';
import type { HttpResponse, RequestOptions } from '../../support/http';

export const PROBLEM = 'application/problem+json';

const WITH_ERRORS = new Set(['validation_failed', 'malformed_json']);

/** The same service for a client that prefers problem details. */
export function asProblems(app: TestApp): TestApp {
  const preferring = (options: RequestOptions = {}): RequestOptions => ({
    ...options,
    headers: { ...options.headers, accept: PROBLEM },
  });
  return {
    ...app,
    send: (method, path, options) => app.send(method, path, preferring(options)),
    get: (path, options) => app.get(path, preferring(options)),
    post: (path, body, options) => app.post(path, body, preferring(options)),
  };
}

/** Expects problem details (RFC 9457) with this status and code, and at most 100 errors with one place each. */
export function expectProblem(
  { status, headers, text }: Pick<HttpResponse, 'status' | 'headers' | 'text'>,
  wanted: number,
  code: string,
): void {
  expect({ status, type: headers['content-type'], text }).toEqual({
    status: wanted,
    type: `${PROBLEM}; charset=utf-8`,
    text: expect.any(String),
  });
  const body = JSON.parse(text);
  expect(body).toEqual({
    type: `/problems/${code}`,
    title: expect.stringMatching(/^[A-Z][A-Za-z ]+$/),
    status: wanted,
    detail: expect.stringMatching(/\S/),
    instance: `urn:request:${String(headers['x-request-id'])}`,
    code,
    ...(WITH_ERRORS.has(code) && { errors: expect.any(Array) }),
  });
  const { errors = [] }: { errors?: Record<string, string>[] } = body;
  expect(errors.length).toBeLessThanOrEqual(100);
  expect(errors.length > 0).toBe(WITH_ERRORS.has(code));
  for (const { detail, ...place } of errors) {
    expect(detail).toMatch(/[.?]$/);
    expect(Object.keys(place).join()).toMatch(/^(pointer|parameter|header)$/);
    expect(Object.values(place).join()).not.toBe('');
  }
}
