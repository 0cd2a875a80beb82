import { HttpException } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { errorCodes } from 'fastify';
import { platformErrors } from '../../src/platform/errors/platform.errors';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { LabModule } from './support/lab.module';

const TOO_LARGE = { name: 'FastifyError', code: 'FST_REQ_FILE_TOO_LARGE', statusCode: 413 };

/** Nest converts each of these errors to an HttpException. */
function throwInFastify(nest: NestFastifyApplication): void {
  nest
    .getHttpAdapter()
    .getInstance()
    .get('/fastify/payload', { config: { public: true } }, () => {
      throw new errorCodes.FST_ERR_REP_INVALID_PAYLOAD_TYPE('number');
    })
    .get('/fastify/plugin', { config: { public: true } }, () => {
      throw Object.assign(new Error('The file is too large.'), TOO_LARGE);
    });
}

describe('an exception thrown by a module', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { beforeListen: throwInFastify, modules: [LabModule] });
  });
  afterAll(() => app.close());

  const failures = () => app.log.filter((line) => line.includes('"request failed"'));

  it.each([
    ['/v1/lab/exceptions/UnauthorizedException', 401, 'unauthorized', 'Unauthorized'],
    ['/v1/lab/exceptions/an assigned status', 451, 'unavailable_for_legal_reasons', 'Not in this country.'],
    ['/v1/lab/exceptions/an unassigned status', 444, 'client_error', 'Closed without a response.'],
    ['/v1/lab/exceptions/a list of messages', 400, 'bad_request', 'name is too long; age is not a number'],
    ['/v1/lab/exceptions/a list as the response', 422, 'unprocessable_entity', 'first; second'],
    ['/v1/lab/exceptions/a response without a message', 409, 'conflict', 'Conflict Exception'],
    ['/v1/lab/exceptions/a blank message', 410, 'gone', 'Gone'],
    ['/v1/lab/exceptions/another error as the response', 401, 'unauthorized', 'Unauthorized'],
    ['/v1/lab/exceptions/a message over the maximum length', 403, 'forbidden', '🐈'.repeat(4_096)],
    ['/v1/lab/exceptions/a message like that of a database error', 409, 'conflict', 'timeout expired'],
    ['/v1/lab/exceptions/a cause', 404, 'not_found', 'No such thing.'],
    ['/v1/lab/closed', 403, 'forbidden', 'Forbidden resource'],
    // A plugin of Fastify threw it, and it is not malformed HTTP.
    ['/fastify/plugin', 413, 'payload_too_large', 'The file is too large.'],
  ])(
    '%s keeps its status and message, and gets the code of the status',
    async (path, status, code, message) => {
      const before = failures().length;
      const response = await app.get(encodeURI(path));
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
    ['/v1/lab/exceptions/a server error', 'Not today.'],
    ['/v1/lab/exceptions/a redirection', 'Look there.'],
    ['/v1/lab/exceptions/an invalid status', 'Odd.'],
    ['/v1/lab/exceptions/a plain Error', 'Thrown by the lab.'],
    ['/v1/lab/exceptions/a text', 'Thrown without an Error.'],
    ['/fastify/payload', 'FST_ERR_REP_INVALID_PAYLOAD_TYPE'],
    // Node rejects these response headers.
    ['/v1/lab/header?value=a\nb', 'ERR_INVALID_CHAR'],
    ['/v1/lab/header?value=🐈', 'ERR_INVALID_CHAR'],
  ])('%s gets 500 internal_error with the fixed message, and a log line', async (path, logged) => {
    const before = failures().length;
    const response = await app.get(encodeURI(path));
    expectError(response, 500, 'internal_error');
    expect(response.json.message).toMatch(/^Something failed inside/);
    expect(failures().slice(before)).toEqual([expect.stringContaining(logged)]);
  });

  it.each(['object', 'text', 'nothing'])(
    'a handler with @Idempotent() that returns without its call (%s) gets 500, and the log names it',
    async (result) => {
      const post = (path: string, headers = {}) =>
        app.post(`/v1/lab/forgotten/${path}`, undefined, { headers, isDocumented: false });
      expectError(await post('no'), 404, 'not_found');
      for (const headers of [{}, { 'idempotency-key': result }]) {
        const before = failures().length;
        expectError(await post(result, headers), 500, 'internal_error');
        expect(failures().slice(before)).toEqual([
          expect.stringContaining(
            'LabController.forgotten has @Idempotent() and does not call it: return once((transaction) => …).',
          ),
        ]);
      }
    },
  );

  it('after the response is logged, and does not change the response', async () => {
    const headers = { 'x-request-id': 'responded' };
    const response = await app.get('/v1/lab/responded', { headers });
    expect({ status: response.status, body: response.json }).toEqual({ status: 200, body: { isDone: true } });
    const lines = () => app.log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === 'responded');
    // The log has a request before the connection's next one begins.
    await app.get('/livez');
    expect(lines().map(({ msg, status }) => ({ msg, status }))).toEqual([
      { msg: 'request failed', status: undefined },
      { msg: 'request', status: 200 },
    ]);
  });
});

it('an error of the store is an HttpException without a stack trace, and belongs to one request', () => {
  const error = platformErrors.route_not_found();
  const [status, response] = [error.getStatus(), error.getResponse()];
  expect([error instanceof HttpException, error instanceof Error, error.stack]).toEqual([
    true,
    true,
    undefined,
  ]);
  expect(response).toEqual({ code: error.code, message: error.message, status });
  Object.assign(error, { message: 'changed' });
  Object.assign(error.headers, { 'X-Client': 'one' });
  expect(platformErrors.route_not_found()).toMatchObject({
    message: expect.not.stringContaining('changed'),
    headers: {},
  });
});
