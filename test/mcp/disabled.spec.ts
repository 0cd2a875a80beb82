import { startApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { INITIALIZE, post } from './support';

jest.mock('@modelcontextprotocol/server', () => {
  throw new Error('the SDK is loaded');
});

const OFF: Record<string, unknown> = { mcpEnabled: false };

describe('MCP_ENABLED=false', () => {
  it('makes /mcp a 404 for every client, loads nothing of the SDK, and hides it from the catalogue', async () => {
    const app = await startApp(OFF);
    for (const key of ['', app.key]) {
      expectError(await app.post('/mcp', INITIALIZE, { key }), 404, 'route_not_found');
    }
    for (const path of ['/llms.txt', '/.well-known/api-catalog']) {
      const { status, text } = await app.get(path);
      expect([path, status, text.includes('/mcp')]).toEqual([path, 200, false]);
    }
    expect((await app.get('/')).text).toContain('<section aria-labelledby="agents" hidden>');
    await app.close();
  });

  it('is not needed for a start without the SDK: the first message that needs a response loads it', async () => {
    const app = await startApp();
    expect((await app.get('/v1/pets')).status).toBe(200);
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    for (const body of [notification, [notification, notification]]) {
      const { status, text } = await post(app, body);
      expect([status, text]).toEqual([202, '']);
    }
    expectError(await app.post('/mcp', INITIALIZE), 500, 'internal_error');
    await app.close();
  });
});
