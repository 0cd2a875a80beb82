import { once } from 'node:events';
import { type RawResponse, RawConnection } from '../edge/support/raw';
import { runOut } from '../edge/support/run-out';
import { BasketsModule, EMPTY } from '../modules/support/baskets.module';
import { NestDtosModule } from '../modules/support/nest-dtos.module';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { rejectedByParser } from '../support/rejections';
import { expectProblem, PROBLEM } from './support/problem';

describe('problem details of a request that is rejected', () => {
  let app: TestApp;
  beforeAll(async () => {
    const settings = { corsOrigins: ['https://shop.example'] };
    app = await startApp(settings, { modules: [BasketsModule, NestDtosModule] });
  });
  afterAll(() => app.close());

  describe('errors of problem details', () => {
    const headers = { accept: PROBLEM };
    const post = (path: string, body: object | string) => app.post(path, body, { headers });

    it.each<[string, object, string[]]>([
      ['baskets', { ...EMPTY, label: 7, best: { name: '' } }, ['#/label', '#/best/name']],
      ['baskets', { ...EMPTY, toys: [{ name: 7 }, {}] }, ['#/toys/0/name', '#/toys/1/name']],
      ['baskets', { ...EMPTY, toys: [{ name: 'a' }, 7] }, ['#/toys']],
      ['baskets', [], ['#']],
      ['visits/named', {}, ['#/one~1two']],
      [
        'visits/named',
        { 'one/two': { 'a/b': 'x', 'm~n é%': 6 } },
        ['#/one~1two/a~1b', '#/one~1two/m~0n%20%C3%A9%25'],
      ],
      ['visits/converted', { trimmed: 7 }, ['#']],
    ])('POST /%s %j: one pointer for each field', async (path, body, pointers) => {
      const response = await post(`/v1/${path}`, body);
      expectProblem(response, 400, 'validation_failed');
      expect(response.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
    });

    it.each<[string, string[]]>([
      ['baskets?places=10&weight=x', ['places', 'weight']],
      ['baskets', ['places', 'weight', 'open', 'price']],
      ['visits/seven?id=1', ['id']],
    ])('GET /%s: one parameter for each mistake', async (path, parameters) => {
      const response = await app.get(`/v1/${path}`, { headers });
      expectProblem(response, 400, 'validation_failed');
      expect(response.json.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual(
        parameters,
      );
    });

    it('name the header Idempotency-Key', async () => {
      const options = { headers: { ...headers, 'idempotency-key': 'a b' } };
      const { json } = await app.post('/v1/pets', aNewPet(), options);
      expect(json.errors).toEqual([{ header: 'Idempotency-Key', detail: json.detail }]);
    });

    it('have the sentences of the message, which names every field', async () => {
      const body = { name: 7, categoryId: 'x' };
      const problem = (await post('/v1/pets', body)).json;
      const { json } = await app.post('/v1/pets', body);
      expect(problem.detail).toBe(json.message);
      const details = problem.errors.map(({ detail }: { detail: string }) => detail.slice(0, -1));
      expect(`${details.join('; ')}.`).toBe(json.message);
    });

    it('are at most 100', async () => {
      const response = await post('/v1/baskets', {
        ...EMPTY,
        lost: Array.from({ length: 101 }, () => ({ name: 7 })),
      });
      expectProblem(response, 400, 'validation_failed');
      expect(response.json.errors).toHaveLength(100);
    });

    it.each<[string, string | Buffer]>([
      ['it cannot be parsed (at character 14)', '{\n "a": 1,\r\n  x}'],
      ['it is not valid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
      ['two members of one object have the same name and different values (at character 8)', '{"a":1,"a":2}'],
    ])('malformed_json: %s, for the whole body', async (reason, body) => {
      const response = await app.post('/v1/pets', body, { headers });
      expectProblem(response, 400, 'malformed_json');
      const { errors, detail } = response.json;
      expect(errors).toEqual([{ pointer: '#', detail: `The body is not acceptable JSON: ${reason}.` }]);
      expect(detail).toBe(errors[0].detail);
      expect((await app.post('/v1/pets', body)).json.message).toBe(detail);
    });
  });

  describe('Accept of a request that is rejected', () => {
    const reject = (accept: string | string[] | undefined) =>
      app.get('/v1/pets?limit=0', accept === undefined ? {} : { headers: { accept } });

    it.each<[string | string[]]>([
      ['Application/Problem+JSON; charset=utf-8'],
      ['application/problem+json, application/json'],
      ['application/json;q=0.9, application/problem+json'],
      ['*/*;q=0.8, application/json;q=0.1, application/problem+json;q=0.2'],
      [['text/html', 'application/problem+json']],
    ])('%j gets problem details', async (accept) => {
      expectProblem(await reject(accept), 400, 'validation_failed');
    });

    it.each<[string | undefined]>([
      [undefined],
      [''],
      ['application/*'],
      ['text/html'],
      ['application/json, application/problem+json'],
      ['*/*, application/problem+json;q=0.5'],
      ['application/problem+json;q=0'],
      ['application/problem+json;q=x'],
      ['application/problem+json;profile="x"'],
      [`${'text/html, '.repeat(100)}application/problem+json`],
    ])('%j gets the Error body', async (accept) => {
      expectError(await reject(accept), 400, 'validation_failed');
    });

    it('is named in Vary of every error, after Origin with CORS', async () => {
      for (const path of ['/v1/pets?limit=0', '/nothing']) {
        for (const accept of ['*/*', PROBLEM]) {
          const { headers } = await app.get(path, { headers: { accept } });
          expect(headers['vary']).toBe('Origin, Accept');
        }
      }
    });

    const firstOf = async (bytes: string, status: number): Promise<RawResponse> => {
      const raw = await RawConnection.open(app.url);
      const arrival = once(app.nest.getHttpServer(), 'request');
      raw.write(bytes);
      // Only a head that has arrived says which form the client prefers.
      if (status === 408 && bytes.includes('\r\n\r\n')) await arrival;
      const restore = status === 408 ? runOut(app) : undefined;
      const response = (await raw.response())!;
      restore?.();
      raw.destroy();
      return response;
    };
    const HOST = `Host: x\r\nAccept: ${PROBLEM}\r\n`;
    const post = (auth: string, headers: string, body: string) =>
      `POST /v1/pets HTTP/1.1\r\n${HOST}Authorization: Bearer ${auth}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

    it.each<[string, number, string, (key: string) => string]>([
      ['CONNECT', 405, 'method_not_allowed', () => `CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`],
      ['no Host', 400, 'malformed_request', () => `GET /v1/pets HTTP/1.1\r\nAccept: ${PROBLEM}\r\n\r\n`],
      ['an unknown Expect', 417, 'expectation_failed', () => `GET / HTTP/1.1\r\n${HOST}Expect: x\r\n\r\n`],
      ['300 headers', 431, 'headers_too_large', () => `GET / HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(300)}\r\n`],
      ['a late body', 408, 'request_timeout', (key) => post(key, 'Content-Length: 10\r\n', '{')],
      [
        'a large body that waits for 100',
        413,
        'payload_too_large',
        (key) => post(key, 'Expect: 100-continue\r\nContent-Length: 500000\r\n', ''),
      ],
    ])('is obeyed below the router: %s gets problem details', async (_what, status, code, bytes) => {
      const response = await firstOf(bytes(app.key), status);
      expectProblem(response, status, code);
      expect(response.headers['vary']).toMatch(/Accept$/);
    });

    it.each(rejectedByParser)(
      'is unknown on %i %s of the HTTP parser: the Error body',
      async (status, code, bytes) => {
        const response = await firstOf(bytes, status);
        expect([response.status, JSON.parse(response.text).code]).toEqual([status, code]);
        expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      },
    );

    it('the type is absolute if PUBLIC_BASE_URL is', async () => {
      const absolute = await startApp({ publicBaseUrl: 'https://api.example.com/store/v1' }, { beside: app });
      const { json } = await absolute.get('/v1/nothing', { headers: { accept: PROBLEM } });
      expect(json.type).toBe('https://api.example.com/store/problems/route_not_found');
      await absolute.close();
    });
  });
});
