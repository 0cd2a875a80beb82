import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { isRefused } from '../support/is-refused';
import { until } from '../support/until';
import {
  call,
  connectAgent,
  INITIALIZE,
  messagesIn,
  post,
  readResult,
  request,
  TOOL_NAMES,
  toolCall,
} from './support';

const LATEST = '2026-07-28';

describe('POST /mcp', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ corsOrigins: ['https://agent.example'] });
  });
  afterAll(() => app.close());

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
    const headers = { 'mcp-session-id': 'of-nobody' };
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
    ['a number', '7'],
    ['null', 'null'],
    ['another object', '{"hello":1}'],
    ['a wrong id', '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
    ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
    ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__"}}'],
    [
      'arguments as a list',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"getKey","arguments":[]}}',
    ],
    [
      '__proto__ as an argument',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"__proto__":1}}}',
    ],
    ['no name', '{"jsonrpc":"2.0","id":1,"method":"tools/call"}'],
    ['an unknown revision', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}'],
  ])('responds to %s with an error of JSON-RPC, never with a 5xx', async (_name, body) => {
    const response = await post(app, body);
    expect(response.status).toBeLessThan(500);
    const [message] = messagesIn(response);
    expect(message.error.code).toBeLessThan(-32_000 + 1);
    expect(message.error.message).not.toMatch(/node_modules|at /);
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

  it('is never stored, and has the headers of every response', async () => {
    const { headers } = await post(app, toolCall(1, 'listPets'));
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-ratelimit-limit': '1000',
      'x-request-id': expect.any(String),
    });
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
