import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { TestApp } from '../../support/app';
import type { HttpResponse, RequestOptions } from '../../support/http';

export const PROBLEM = 'application/problem+json';

/** RFC 9457, appendix A, without its descriptions. */
const RFC_9457 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'An RFC 7807 problem object',
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 100, maximum: 599 },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri-reference' },
  },
};

/** The members that the service adds to it, and requires. */
const OURS = {
  required: ['type', 'title', 'status', 'detail', 'instance', 'code'],
  properties: {
    errors: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: {
        required: ['detail'],
        minProperties: 2,
        maxProperties: 2,
        properties: {
          pointer: { type: 'string', format: 'json-pointer-uri-fragment' },
          parameter: { type: 'string', minLength: 1 },
          header: { type: 'string', minLength: 1 },
          detail: { type: 'string', pattern: '[.?]$' },
        },
        additionalProperties: false,
      },
    },
  },
};

const WITH_ERRORS = new Set(['validation_failed', 'malformed_json']);

const ajv = addFormats(new Ajv2020({ allErrors: true, strictTypes: false }));
const validate = ajv.compile({ allOf: [RFC_9457, OURS] });

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

/** Expects problem details with this status and code. */
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
  validate(body);
  expect(validate.errors ?? []).toEqual([]);
  expect(body).toEqual({
    type: `/problems/${code}`,
    title: expect.stringMatching(/^[A-Z][A-Za-z ]+$/),
    status: wanted,
    detail: expect.stringMatching(/\S/),
    instance: `urn:request:${String(headers['x-request-id'])}`,
    code,
    ...(WITH_ERRORS.has(code) && { errors: expect.any(Array) }),
  });
}
