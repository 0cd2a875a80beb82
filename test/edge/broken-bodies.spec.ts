import type { FastifyInstance } from 'fastify';
import { startApp, type TestApp } from '../support/app';
import { RawConnection } from './support/raw';

describe('a request with a broken or late body', () => {
  let app: TestApp;
  /** The ids of the requests whose head has arrived. */
  const requestIds = new Set<string>();
  beforeAll(async () => {
    app = await startApp(
      { headersTimeoutMs: 200, requestTimeoutMs: 250 },
      {
        beforeListen: (nest) => {
          const fastify: FastifyInstance = nest.getHttpAdapter().getInstance();
          fastify.addHook('onRequest', ({ id }, _reply, done) => {
            requestIds.add(id);
            done();
          });
        },
      },
    );
  });
  afterAll(() => app.close());

  it.each([
    ['broken', 400, 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['slow', 408, 'Content-Length: 10\r\n\r\n{'],
  ])('(%s) gets %i with the request id and the windows of the account', async (_kind, status, rest) => {
    // On a busy machine the head, too, can be late; that request has no id yet.
    for (let attempt = 1, isSeen = false; !isSeen; attempt += 1) {
      const id = `mine-${attempt}`;
      const raw = await RawConnection.open(app.url);
      raw.write(
        `POST /v1/pets HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${app.key}\r\n${rest}`,
      );
      const response = (await raw.response())!;
      raw.destroy();
      isSeen = requestIds.has(id);
      if (!isSeen) continue;
      expect(response.status).toBe(status);
      expect(response.headers).toMatchObject({ 'x-request-id': id, connection: 'close' });
      expect(response.headers['ratelimit-policy']).toContain('"day"');
    }
  });
});
