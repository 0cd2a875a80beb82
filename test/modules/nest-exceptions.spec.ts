import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { errorCodes, type FastifyInstance } from 'fastify';
import { expiredApiKey, invalidApiKey, missingApiKey, revokedApiKey } from '../../src/auth';
import { platformErrors } from '../../src/platform/errors/platform.errors';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { until } from '../support/until';
import { LabModule } from './support/lab.module';

/** Nest converts each of these errors to an HttpException. */
const FASTIFY_ERRORS: Readonly<Record<string, Error>> = {
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

  const thrown = (name: string) => `/v1/lab/exceptions/${encodeURIComponent(name)}`;
  const failures = () => app.log.filter((line) => line.includes('"request failed"'));

  it.each([
    ['UnauthorizedException', 401, 'unauthorized', 'Unauthorized'],
    ['ImATeapotException', 418, 'im_a_teapot', "I'm a teapot"],
    ['an assigned status', 451, 'unavailable_for_legal_reasons', 'Not in this country.'],
    ['an unassigned status', 444, 'client_error', 'Closed without a response.'],
    ['a list of messages', 400, 'bad_request', 'name is too long; age is not a number'],
    ['a list as the response', 422, 'unprocessable_entity', 'first; second'],
    ['a response with a message', 409, 'conflict', 'The name is taken.'],
    ['a response without a message', 409, 'conflict', 'Conflict Exception'],
    ['a blank message', 410, 'gone', 'Gone'],
    ['another error as the response', 401, 'unauthorized', 'Unauthorized'],
    ['a message over the maximum length', 403, 'forbidden', '🐈'.repeat(4_096)],
    ['a message like that of a database error', 409, 'conflict', 'timeout expired'],
    ['a cause', 404, 'not_found', 'No such thing.'],
    // Thrown elsewhere than by a handler, by path.
    ['/v1/lab/closed', 403, 'forbidden', 'Forbidden resource'],
    ['/v1/lab/guard', 403, 'forbidden', 'Thrown by a guard.'],
    ['/v1/lab/pipe', 400, 'bad_request', 'Thrown by a pipe.'],
    ['/v1/lab/interceptor', 409, 'conflict', 'Thrown by an interceptor.'],
    ['/fastify/plugin', 413, 'payload_too_large', 'The file is too large.'],
  ])(
    '%s: keeps its status and message, and gets the code of the status',
    async (name, status, code, message) => {
      const before = failures().length;
      const response = await app.get(name.startsWith('/') ? name : thrown(name));
      expect({ status: response.status, body: response.json }).toEqual({
        status,
        body: { code, message, status },
      });
      expect(response.headers['content-type']).toMatch(/^application\/json/);
      expect('www-authenticate' in response.headers).toBe(status === 401);
      expect(failures()).toHaveLength(before);
    },
  );

  it.each([
    ['a server error', 'Not today.'],
    ['a redirection', 'Look there.'],
    ['an invalid status', 'Odd.'],
    ['a plain Error', 'Thrown by the lab.'],
    ['a text', 'Thrown without an Error.'],
    ['/fastify/payload', 'payload of invalid type'],
  ])('%s: gets 500 internal_error with the fixed message, and a log line', async (name, logged) => {
    const before = failures().length;
    const response = await app.get(name.startsWith('/') ? name : thrown(name));
    expectError(response, 500, 'internal_error');
    expect(response.json.message).toMatch(/^Something failed inside/);
    expect(failures().slice(before)).toEqual([expect.stringContaining(logged)]);
  });

  it.each(['a%0Ab', '%F0%9F%90%88'])('a response header with %s gets 500 internal_error', async (value) => {
    expectError(await app.get(`/v1/lab/header?value=${value}`), 500, 'internal_error');
    expect((await app.get('/v1/lab/header?value=a')).headers['x-value']).toBe('a');
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
});

describe('an error that requests share', () => {
  it.each([missingApiKey, invalidApiKey, expiredApiKey, revokedApiKey, platformErrors.route_not_found])(
    'cannot be changed by a module: %p',
    (create) => {
      const error = create();
      expect(create()).toBe(error);
      expect(() => Object.assign(error, { message: 'changed' })).toThrow(TypeError);
      expect(() => Object.assign(error.headers, { 'X-Client': 'one' })).toThrow(TypeError);
    },
  );
});
