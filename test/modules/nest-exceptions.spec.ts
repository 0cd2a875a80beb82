import {
  BadRequestException,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  GoneException,
  HttpException,
  Module,
  NotFoundException,
  Param,
  Query,
  Res,
  UnauthorizedException,
} from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { errorCodes, type FastifyReply } from 'fastify';
import { RequireScope } from '../../src';
import { commonErrors } from '../../src/api/errors/common.errors';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const TOO_LARGE = { name: 'FastifyError', code: 'FST_REQ_FILE_TOO_LARGE', statusCode: 413 };

/** Values that handlers throw, with their responses. */
const EXPECTED: readonly (readonly [thrown: unknown, status: number, code: string, message: string])[] = [
  [new UnauthorizedException(), 401, 'unauthorized', 'Unauthorized'],
  [new HttpException('Not here.', 451), 451, 'unavailable_for_legal_reasons', 'Not here.'],
  // No RFC has this status.
  [new HttpException('Closed.', 444), 444, 'client_error', 'Closed.'],
  [
    new BadRequestException(['name is too long', 'age is odd']),
    400,
    'bad_request',
    'name is too long; age is odd',
  ],
  [new ConflictException({ name: 'Rex' }), 409, 'conflict', 'Conflict Exception'],
  [new GoneException(' '), 410, 'gone', 'Gone'],
  [new UnauthorizedException(new Error('password is wrong')), 401, 'unauthorized', 'Unauthorized'],
  [new ForbiddenException('🐈'.repeat(5_000)), 403, 'forbidden', '🐈'.repeat(2_048)],
  // As that of a database error.
  [new ConflictException('timeout expired'), 409, 'conflict', 'timeout expired'],
  [
    new NotFoundException('No such thing.', { cause: new Error('row 7') }),
    404,
    'not_found',
    'No such thing.',
  ],
];

/** Values that handlers throw by mistake, with a part of the log line. */
const UNEXPECTED: readonly (readonly [thrown: unknown, logged: string])[] = [
  [new HttpException('Not today.', 501), 'Not today.'],
  [new HttpException('Look there.', 302), 'Look there.'],
  [new HttpException('Odd.', 1_000), 'Odd.'],
  [new Error('Thrown by the lab.'), 'Thrown by the lab.'],
  ['Thrown without an Error.', 'Thrown without an Error.'],
];
const THROWN = [...EXPECTED, ...UNEXPECTED].map(([thrown]) => thrown);
const pathOf = (thrown: unknown) => `/v1/lab/thrown/${THROWN.indexOf(thrown)}`;

/** Throws like a team's module that follows Nest's documentation. */
@Controller({ path: 'lab', version: '1' })
class LabController {
  @Get('thrown/:at')
  @RequireScope('pets:read')
  throw(@Param('at') at: string) {
    throw THROWN[Number(at)];
  }

  @Get('responded')
  @RequireScope('pets:read')
  responded(@Res() reply: FastifyReply) {
    void reply.send({ isDone: true });
    throw new Error('Thrown after the response.');
  }

  @Get('header')
  @RequireScope('pets:read')
  header(@Query() query: Record<string, string>, @Res({ passthrough: true }) reply: FastifyReply) {
    reply.headers(query);
    return {};
  }
}

@Module({ controllers: [LabController] })
class LabModule {}

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

  it.each<readonly [string, number, string, string]>([
    ...EXPECTED.map(([thrown, ...expected]) => [pathOf(thrown), ...expected] as const),
    // A plugin of Fastify threw it, and it is not malformed HTTP.
    ['/fastify/plugin', 413, 'payload_too_large', 'The file is too large.'],
  ])(
    '%s: %i %s keeps its status and message, and gets the code of the status',
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

  it.each<readonly [string, string]>([
    ...UNEXPECTED.map(([thrown, logged]) => [pathOf(thrown), logged] as const),
    ['/fastify/payload', 'FST_ERR_REP_INVALID_PAYLOAD_TYPE'],
    // Node rejects these response headers.
    ['/v1/lab/header?value=a\nb', 'ERR_INVALID_CHAR'],
    ['/v1/lab/header?value=🐈', 'ERR_INVALID_CHAR'],
    ['/v1/lab/header?a value=b', 'ERR_INVALID_HTTP_TOKEN'],
    ['/v1/lab/header?=b', 'ERR_INVALID_HTTP_TOKEN'],
  ])('%s gets 500 internal_error with the fixed message, and a log line', async (path, logged) => {
    const before = failures().length;
    const response = await app.get(encodeURI(path));
    expectError(response, 500, 'internal_error');
    expect(response.json.message).toMatch(/^Something failed inside/);
    expect(failures().slice(before)).toEqual([expect.stringContaining(logged)]);
  });

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
  const error = commonErrors.route_not_found();
  const [status, response] = [error.getStatus(), error.getResponse()];
  expect([error instanceof HttpException, error.stack]).toEqual([true, `ApiError: ${error.message}`]);
  expect(response).toEqual({ code: error.code, message: error.message, status });
  Object.assign(error, { message: 'changed' });
  Object.assign(error.headers, { 'X-Client': 'one' });
  expect(commonErrors.route_not_found()).toMatchObject({
    message: expect.not.stringContaining('changed'),
    headers: {},
  });
});
