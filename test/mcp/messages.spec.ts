import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { messagesIn, post, request, TOOL_NAMES, toolCall } from './support';

const LATEST = '2026-07-28';

describe('a message', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it.each([
    ['initialize without a version', -32_603, request(1, 'initialize', {})],
    ['a list with a cursor of a wrong type', -32_603, request(1, 'tools/list', { cursor: 7 })],
    ['a call without a name', -32_602, request(1, 'tools/call')],
    ['arguments of a wrong type', -32_602, request(1, 'tools/call', { name: 'getKey', arguments: 'x' })],
    ['an unknown tool', -32_602, toolCall(1, 'nothing')],
  ])('responds to %s with %i', async (_name, code, message) => {
    const { status, text } = await post(app, message);
    const { id, error } = JSON.parse(text);
    expect([status, id, error.code]).toEqual([200, 1, code]);
  });

  it.each([
    ['a notification', 202, { method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['an unknown notification', 202, { method: 'n', params: [1] }],
    ['a result', 202, { id: 1, result: {} }],
    ['an error', 202, { id: 1, error: { code: 1, message: 'x' } }],
    [
      'a notification with an id',
      200,
      { id: 1, method: 'notifications/cancelled', params: { requestId: 1 } },
    ],
    ['an unknown method', 200, { id: 1, method: 'constructor' }],
    ['a request with an id of null', 400, { id: null, method: 'ping' }],
    ['a request for a task', 200, { id: 1, method: 'tasks/get', params: { taskId: '1' } }],
    ['a request of a server', 200, { id: 1, method: 'sampling/createMessage', params: {} }],
  ])('responds to %s (%i), in each revision', async (_name, status, message) => {
    for (const version of ['2024-11-05', '2025-11-25', LATEST]) {
      const headers = { 'mcp-protocol-version': version };
      const response = await post(app, { jsonrpc: '2.0', ...message }, { headers });
      expect(version === LATEST ? [status, 400] : [status]).toContain(response.status);
    }
  });

  it('reads the document again if the first attempt failed', async () => {
    let failures = 1;
    const other = await startApp(
      {},
      {
        beside: app,
        beforeListen: (nest) => {
          nest
            .getHttpAdapter()
            .getInstance()
            .addHook('onRequest', async ({ url }: { readonly url: string }) => {
              if (url === '/openapi.json' && (failures -= 1) >= 0) throw new Error('not now');
            });
        },
      },
    );
    expectError(await post(other, request(1, 'tools/list')), 500, 'internal_error');
    const [{ result }] = messagesIn(await post(other, request(2, 'tools/list')));
    expect(result.tools).toHaveLength(TOOL_NAMES.length);
    await other.close();
  });
});
