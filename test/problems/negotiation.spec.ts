import { rejectedByParser } from '../support/rejections';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { type RawResponse, RawConnection } from '../edge/support/raw';
import { asProblems, expectProblem, PROBLEM } from './support/problem';

describe('Accept of a request that is rejected', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({
      requestTimeoutMs: 300,
      headersTimeoutMs: 200,
      corsOrigins: ['https://shop.example'],
    });
  });
  afterAll(() => app.close());

  const reject = (accept: string | string[] | undefined) =>
    app.get('/v1/pets?limit=0', accept === undefined ? {} : { headers: { accept } });

  it.each<[string | string[]]>([
    ['application/problem+json'],
    ['Application/Problem+JSON'],
    ['application/problem+json; charset=utf-8'],
    ['application/problem+json, application/json'],
    ['application/json;q=0.9, application/problem+json'],
    ['*/*, application/problem+json'],
    ['*/*;q=0.8, application/json;q=0.1, application/problem+json;q=0.2'],
    ['text/html, application/problem+json;q=0.1'],
    [['text/html', 'application/problem+json']],
  ])('%j gets problem details', async (accept) => {
    expectProblem(await reject(accept), 400, 'validation_failed');
  });

  it.each<[string | undefined]>([
    [undefined],
    [''],
    ['*/*'],
    ['application/*'],
    ['application/json'],
    ['text/html'],
    ['application/json, application/problem+json'],
    ['application/json, application/problem+json;q=0.9'],
    ['*/*, application/problem+json;q=0.5'],
    ['application/problem+json;q=0'],
    ['application/problem+json;q=x'],
    ['application/problem+json;profile="x"'],
    ['application/problem+xml'],
    ['problem'],
    ['"application/problem+json'],
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

  it('changes no successful response', async () => {
    const { status, headers } = await asProblems(app).get('/v1/pets');
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'application/json; charset=utf-8',
    });
  });

  it('gives HEAD the Content-Type and length of GET', async () => {
    const headers = { accept: PROBLEM, 'x-request-id': 'same' };
    const get = await app.get('/v1/pets?limit=0', { headers });
    const head = await app.send('HEAD', '/v1/pets?limit=0', { headers });
    expect([head.status, head.text, head.headers['content-type'], head.headers['content-length']]).toEqual([
      400,
      '',
      get.headers['content-type'],
      get.headers['content-length'],
    ]);
  });

  const firstOf = async (bytes: string): Promise<RawResponse> => {
    const raw = await RawConnection.open(app.url);
    raw.write(bytes);
    const response = (await raw.response())!;
    raw.destroy();
    return response;
  };
  const HOST = `Host: x\r\nAccept: ${PROBLEM}\r\n`;
  const post = (auth: string, headers: string, body: string) =>
    `POST /v1/pets HTTP/1.1\r\n${HOST}Authorization: Bearer ${auth}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

  it.each<[string, number, string, (key: string) => string]>([
    ['CONNECT', 405, 'method_not_allowed', () => `CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`],
    ['no Host', 400, 'malformed_request', () => `GET /v1/pets HTTP/1.1\r\nAccept: ${PROBLEM}\r\n\r\n`],
    ['two Hosts', 400, 'malformed_request', () => `GET / HTTP/1.1\r\n${HOST}Host: y\r\n\r\n`],
    ['an unknown Expect', 417, 'expectation_failed', () => `GET / HTTP/1.1\r\n${HOST}Expect: x\r\n\r\n`],
    ['300 headers', 431, 'headers_too_large', () => `GET / HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(300)}\r\n`],
    [
      'an invalid chunk',
      400,
      'malformed_request',
      (key) => post(key, 'Transfer-Encoding: chunked\r\n', 'zz\r\n'),
    ],
    ['a late body', 408, 'request_timeout', (key) => post(key, 'Content-Length: 10\r\n', '{')],
    [
      'a large body that waits for 100',
      413,
      'payload_too_large',
      (key) => post(key, 'Expect: 100-continue\r\nContent-Length: 500000\r\n', ''),
    ],
  ])('is obeyed below the router: %s gets problem details', async (_what, status, code, bytes) => {
    const response = await firstOf(bytes(app.key));
    expectProblem(response, status, code);
    expect(response.headers['vary']).toMatch(/Accept$/);
  });

  it.each(rejectedByParser)(
    'is unknown on %i %s of the HTTP parser: the Error body',
    async (status, code, bytes) => {
      const response = await firstOf(bytes);
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
