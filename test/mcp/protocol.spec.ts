import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { isRefused } from '../support/is-refused';
import { until } from '../support/until';
import {
  call,
  connectAgent,
  INITIALIZE,
  messagesIn,
  OPERATIONS,
  post,
  readResult,
  request,
  toolCall,
} from './support';

const TOOL_NAMES = OPERATIONS.map(({ name }) => name);
const LATEST = '2026-07-28';

const LIMIT = 10;
const SMALL = { plan: 'enterprise', perMinute: LIMIT, perDay: 1_000 } as const;

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  app = await startApp({ corsOrigins: ['https://agent.example'] });
});

describe('POST /mcp', () => {
  it.each([
    ['the latest revision', { versionNegotiation: { mode: { pin: LATEST } } }, LATEST],
    ['the one before', { versionNegotiation: { mode: 'legacy' } }, '2025-11-25'],
    ['the best of both', { versionNegotiation: { mode: 'auto' } }, LATEST],
  ] as const)('serves %s to the official client', async (_name, options, version) => {
    const client = await connectAgent(app, app.key, options);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
    const { json } = await call(client, 'createPet', { name: 'Rex', categoryId: 3 });
    expect((await call(client, 'listPets', { id: [json.id] })).json).toEqual([json]);
    await client.close();
  });

  it('keeps no session: DELETE and GET are 405, and each message stands for itself', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await app.send(method, '/mcp');
      expectError(response, 405, 'method_not_allowed');
      expect(response.headers['allow']).toBe('POST');
    }
    const initialized = await post(app, INITIALIZE);
    expect([initialized.status, initialized.headers['mcp-session-id']]).toEqual([200, undefined]);
    const headers = { 'mcp-session-id': 'unknown' };
    const [{ result }] = messagesIn(await post(app, request(1, 'tools/list'), { headers }));
    expect(result.tools.map(({ name }: { readonly name: string }) => name)).toEqual(TOOL_NAMES);
  });

  it('opens no stream that lasts', async () => {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': LATEST,
      'io.modelcontextprotocol/clientInfo': { name: 'agent', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const method = 'subscriptions/listen';
    const listen = request(1, method, { _meta: envelope, notifications: { toolsListChanged: true } });
    const headers = { 'mcp-protocol-version': LATEST, 'mcp-method': method };
    const [{ error }] = messagesIn(await post(app, listen, { headers }));
    expect(error).toEqual({ code: -32603, message: 'Subscription limit reached' });
  });

  it.each([
    ['null', -32_600, 'null'],
    ['an id beyond 2^53', -32_600, '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
    ['the tool __proto__', -32_602, toolCall(1, '__proto__')],
    ['an unknown tool', -32_602, toolCall(1, 'nothing')],
    ['arguments of a wrong type', -32_602, request(1, 'tools/call', { name: 'getKey', arguments: [] })],
    ['initialize without a version', -32_603, request(1, 'initialize', {})],
    ['a list with a cursor of a wrong type', -32_603, request(1, 'tools/list', { cursor: 7 })],
  ])('responds to %s with the JSON-RPC error %i, never with a 5xx', async (_name, code, body) => {
    const response = await post(app, body);
    expect(response.status).toBeLessThan(500);
    const [{ error }] = messagesIn(response);
    expect(error).toEqual({ code, message: expect.not.stringMatching(/node_modules|at /) });
  });

  it.each([
    ['a notification', 202, { method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['an unknown notification', 202, { method: 'n' }],
    ['a result', 202, { id: 1, result: {} }],
    ['an unknown method', 200, { id: 1, method: 'constructor' }],
    ['a request with an id of null', 400, { id: null, method: 'ping' }],
  ])('responds to %s (%i), in each revision', async (_name, status, message) => {
    for (const version of ['2024-11-05', '2025-11-25', LATEST]) {
      const headers = { 'mcp-protocol-version': version };
      const response = await post(app, { jsonrpc: '2.0', ...message }, { headers });
      expect(version === LATEST ? [status, 400] : [status]).toContain(response.status);
    }
  });

  it('passes a batch of 100 animals with every member on, and is never stored', async () => {
    const animal = aNewPet({ status: 'sold' });
    const response = await post(app, toolCall(1, 'createPets', { items: Array(100).fill(animal) }));
    const [{ result }] = messagesIn(response);
    expect(JSON.parse(result.content[0].text)).toHaveLength(100);
    expect(response.headers['cache-control']).toBe('no-store');
  });

  it('accepts only origins that may use the API', async () => {
    for (const origin of ['https://evil.example', 'http://localhost.evil.example', 'null']) {
      const headers = { origin, host: origin.replace(/^https?:\/\//, '') };
      expectError(await post(app, INITIALIZE, { headers }), 403, 'forbidden');
    }
    for (const origin of [app.url, 'http://localhost:6274', 'https://agent.example']) {
      expect((await post(app, INITIALIZE, { headers: { origin } })).status).toBe(200);
    }
  });

  it('lets a call of a tool finish during a stop, although its first use of the tools is after the end of listening', async () => {
    const other = await startApp({}, { beside: app });
    const body = JSON.stringify(toolCall(1, 'createPet', { name: 'Late', categoryId: 1 }));
    const outgoing = httpRequest(`${other.url}/mcp`, {
      method: 'POST',
      agent: new Agent(),
      headers: {
        authorization: `Bearer ${other.key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    });
    outgoing.flushHeaders();
    await once(outgoing, 'continue');
    const closed = other.nest.close();
    await until(() => isRefused(other.url));
    outgoing.end(body);
    const [response] = await once(outgoing, 'response');
    const { result, error } = JSON.parse((await response.setEncoding('utf8').toArray()).join(''));
    expect([response.statusCode, error]).toEqual([200, undefined]);
    expect(readResult(result).json).toMatchObject({ name: 'Late' });
    await closed;
    await other.close();
  });
});

describe('the calls of agents', () => {
  const list = (id: number) => toolCall(id, 'listPets');

  it.each<[string, number, string | object, Record<string, string>?]>([
    ['initialize', 200, INITIALIZE],
    ['a notification', 202, { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['the list of tools', 200, request(1, 'tools/list')],
    ['a call', 200, list(3)],
    ['an unknown tool', 200, toolCall(5, 'nothing')],
    ['an unknown argument', 200, toolCall(6, 'listPets', { colour: 'red' })],
    ['a body that is no JSON', 400, '{'],
    ['a body that is too long', 413, JSON.stringify('x'.repeat(70_000))],
    ['another media type', 415, '{}', { 'content-type': 'text/plain' }],
    ['a batch', 400, [list(1), list(2)]],
    ['an unknown origin', 403, list(1), { origin: 'https://evil.example' }],
    ['a call without a correct id', 400, toolCall(null, 'listPets')],
    ['another Accept', 200, list(1), { accept: 'text/plain' }],
    ['an unknown revision', 400, list(1), { 'mcp-protocol-version': '1999-01-01' }],
  ])('count once each: %s (%i)', async (_case, status, body, headers = {}) => {
    const { key } = await app.createKey({ choice: SMALL });
    const response = await post(app, body, { key, headers });
    expect([response.status, response.headers['x-ratelimit-remaining']]).toEqual([status, `${LIMIT - 1}`]);
  });

  it('have the log lines of their request and of their operation, with one request id', async () => {
    const headers = { 'x-request-id': 'agent-1' };
    // More in one second than the log has of requests that no window admits.
    await Promise.all(Array.from({ length: 30 }, () => app.get('/llms.txt')));
    await post(app, list(1), { key: app.key, headers });
    const lines = app.log.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === 'agent-1');
    expect(lines.map(({ method, path, status }) => [method, path, status])).toEqual([
      ['GET', '/v1/pets', 200],
      ['POST', '/mcp', 200],
    ]);
  });
});

describe('a program that knows only the address', () => {
  it('finds the document, Swagger UI and /mcp by /llms.txt, without a key', async () => {
    const { status, headers, text } = await app.get('/llms.txt', { key: '' });
    expect([status, headers['content-type']]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(text).toMatch(/^# Animal Store API\n\n> /);
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
    expect(links).toEqual(['/openapi.json', '/guide', '/docs', '/mcp']);
    for (const link of links.filter((each) => each !== '/mcp')) {
      expect([link, (await app.get(link)).status < 400]).toEqual([link, true]);
    }
  });
});
