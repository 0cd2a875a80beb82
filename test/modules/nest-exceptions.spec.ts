import { STATUS_CODES } from 'node:http';
import type { HttpException } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { errorCodes, type FastifyInstance } from 'fastify';
import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey } from '../../src/auth';
import { routeNotFound } from '../../src/platform/errors/http.errors';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import type { HttpResponse } from '../support/http';
import { until } from '../support/until';
import { EXCEPTIONS, LabModule } from './support/lab.module';

/** The code of each status that the lab throws. */
const CODES: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  402: 'payment_required',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  409: 'conflict',
  410: 'gone',
  412: 'precondition_failed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  418: 'im_a_teapot',
  421: 'misdirected_request',
  422: 'unprocessable_entity',
  444: 'client_error',
  451: 'unavailable_for_legal_reasons',
};

const MAX_MESSAGE = 4_096;

/** Returns the message that Nest itself would send, shortened to our maximum length. */
function messageOf(exception: HttpException): string {
  const response: unknown = exception.getResponse();
  if (response instanceof Error) return STATUS_CODES[exception.getStatus()]!;
  const { message = exception.message } =
    typeof response === 'object' && !Array.isArray(response)
      ? (response as { message?: unknown })
      : { message: response };
  const text = Array.from([message].flat().join('; ')).slice(0, MAX_MESSAGE).join('');
  return text.trim() === '' ? STATUS_CODES[exception.getStatus()]! : text;
}

/** Nest converts each of these errors to an HttpException. */
const FASTIFY_ERRORS: Readonly<Record<string, Error>> = {
  url: new errorCodes.FST_ERR_BAD_URL('/%'),
  type: new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE('text/plain'),
  payload: new errorCodes.FST_ERR_REP_INVALID_PAYLOAD_TYPE('number'),
  plugin: Object.assign(new Error('The file is too large.'), {
    name: 'FastifyError',
    code: 'FST_REQ_FILE_TOO_LARGE',
    statusCode: 413,
  }),
};

function throwInFastify(nest: NestFastifyApplication): void {
  const fastify: FastifyInstance = nest.getHttpAdapter().getInstance();
  fastify.get<{ Params: { name: string } }>('/fastify/:name', { config: { public: true } }, ({ params }) => {
    throw FASTIFY_ERRORS[params.name]!;
  });
}

describe("Nest's own exceptions, thrown by a module", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { beforeListen: throwInFastify, modules: [LabModule] });
  });
  afterAll(() => app.close());

  const thrown = (name: string): Promise<HttpResponse> =>
    app.get(`/v1/lab/exceptions/${encodeURIComponent(name)}`);
  const failures = () => app.log.filter((line) => line.includes('"request failed"'));
  const named = (belongs: (status: number) => boolean) =>
    [...EXCEPTIONS].filter(([, make]) => belongs(make().getStatus())).map(([name]) => name);

  it.each(named((status) => status >= 400 && status < 500))(
    '%s: keeps its status and message, and gets the code of the status',
    async (name) => {
      const exception = EXCEPTIONS.get(name)!();
      const status = exception.getStatus();
      const before = failures().length;
      const response = await thrown(name);
      expect({ status: response.status, body: response.json }).toEqual({
        status,
        body: { code: CODES[status], message: expect.any(String), status },
      });
      expect(response.json.message).toBe(messageOf(exception));
      expect(response.headers['content-type']).toMatch(/^application\/json/);
      expect('www-authenticate' in response.headers).toBe(status === 401);
      expect(failures()).toHaveLength(before);
    },
  );

  it.each([...named((status) => status < 400 || status >= 500), 'a plain Error'])(
    '%s: gets 500 internal_error with the fixed message, and a log line',
    async (name) => {
      const before = failures().length;
      const response = await thrown(name);
      expect({ status: response.status, body: response.json }).toEqual({
        status: 500,
        body: {
          code: 'internal_error',
          message: expect.stringMatching(/^Something failed inside/),
          status: 500,
        },
      });
      expect(failures().slice(before)).toEqual([
        expect.stringContaining(
          JSON.stringify(EXCEPTIONS.get(name)?.().message ?? 'The lab has no a plain Error.'),
        ),
      ]);
    },
  );

  it.each(['a%0Ab', '%F0%9F%90%88'])('a response header with %s gets 500 internal_error', async (value) => {
    expectError(await app.get(`/v1/lab/header?value=${value}`), 500, 'internal_error');
    expect((await app.get('/v1/lab/header?value=a')).headers['x-value']).toBe('a');
  });

  it('a thrown value that is not an Error gets 500 internal_error, and a log line', async () => {
    const before = failures().length;
    const { status, json } = await app.get('/v1/lab/text');
    expect({ status, code: json.code }).toEqual({ status: 500, code: 'internal_error' });
    expect(failures().slice(before)).toEqual([expect.stringContaining('Thrown without an Error.')]);
  });

  it.each([
    ['a guard that returns false', 'closed', 403, 'forbidden', 'Forbidden resource'],
    ['a guard that throws', 'guard', 403, 'forbidden', 'Thrown by a guard.'],
    ['a pipe that throws', 'pipe', 400, 'bad_request', 'Thrown by a pipe.'],
    ['an interceptor that throws', 'interceptor', 409, 'conflict', 'Thrown by an interceptor.'],
    ['ParseIntPipe', 'number/seven', 400, 'bad_request', 'Validation failed (numeric string is expected)'],
  ])('%s: gets its status and message', async (_what, path, status, code, message) => {
    const response = await app.get(`/v1/lab/${path}`);
    expect({ status: response.status, body: response.json }).toEqual({
      status,
      body: { code, message, status },
    });
  });

  it.each([
    ['url', 400, 'malformed_request', 'The request is not valid HTTP.'],
    ['type', 415, 'unsupported_media_type', 'Content-Type must be application/json.'],
    ['payload', 500, 'internal_error', expect.stringMatching(/^Something failed inside/)],
    ['plugin', 413, 'payload_too_large', 'The file is too large.'],
  ])('only an error of Fastify itself is malformed HTTP: %s', async (name, status, code, message) => {
    const response = await app.get(`/fastify/${name}`);
    expect({ status: response.status, body: response.json }).toEqual({
      status,
      body: { code, message, status },
    });
  });

  it('logs an error that is thrown after the response, and does not change the response', async () => {
    const headers = { 'x-request-id': 'responded' };
    const response = await app.get('/v1/lab/responded', { headers });
    expect({ status: response.status, body: response.json }).toEqual({ status: 200, body: { isDone: true } });
    const lines = () => app.log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === 'responded');
    await until(() => lines().some(({ msg }) => msg === 'request'));
    expect(lines().map(({ msg, status }) => ({ msg, status }))).toEqual([
      { msg: 'request failed', status: undefined },
      { msg: 'request', status: 200 },
    ]);
  });

  it('an unknown path gets 404 route_not_found, from every part of the service', async () => {
    for (const path of ['/v1/lab/none', '/none', '/docs/none.css']) {
      const { status, json } = await app.get(path);
      expect({ path, status, code: json.code }).toEqual({ path, status: 404, code: 'route_not_found' });
    }
  });
});

describe('an error that requests share', () => {
  it.each([missingApiKey, invalidApiKey, expiredApiKey, revokedApiKey, routeNotFound])(
    'cannot be changed by a module: %p',
    (create) => {
      const error = create();
      expect(create()).toBe(error);
      expect(() => Object.assign(error, { message: 'changed' })).toThrow(TypeError);
      expect(() => Object.assign(error.headers, { 'X-Client': 'one' })).toThrow(TypeError);
    },
  );
});
