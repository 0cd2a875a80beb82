import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { INITIALIZE } from './support';

const OFF: Record<string, unknown> = { mcpEnabled: false };

describe('a program that knows only the address', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('finds the document, Swagger UI and /mcp by /llms.txt, without a key', async () => {
    const { status, headers, text } = await app.get('/llms.txt', { key: '' });
    expect([status, headers['content-type']]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(text).toMatch(/^# Animal Store API\n\n> /);
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
    expect(links).toEqual(['/openapi.json', '/guide', '/llms-full.txt', '/docs', '/mcp']);
    for (const link of links.filter((each) => each !== '/mcp')) {
      expect([link, (await app.get(link)).status < 400]).toEqual([link, true]);
    }
  });

  it('gets absolute addresses if PUBLIC_BASE_URL is one, and nothing that is switched off', async () => {
    const settings = { publicBaseUrl: 'https://api.example.com/store/v1', docsEnabled: false };
    const other = await startApp({ ...settings, ...OFF }, { beside: app });
    const { text } = await other.get('/llms.txt');
    expect(text).toContain('(https://api.example.com/store/openapi.json)');
    expect(text).not.toMatch(/\/docs|\/mcp/);
    for (const key of ['', app.key])
      expectError(await other.post('/mcp', INITIALIZE, { key }), 404, 'route_not_found');
    await other.close();
  });

  const NO_OAUTH =
    'This service has API keys and no OAuth: send a valid key in the header Authorization: Bearer <API_KEY>.';

  it.each([
    ['POST', '/register', NO_OAUTH],
    ['GET', '/.well-known/oauth-protected-resource/mcp', NO_OAUTH],
    ['OPTIONS', '/.well-known/oauth-authorization-server/store/mcp', NO_OAUTH],
    ['GET', '/mcp/.well-known/openid-configuration?x=1', NO_OAUTH],
    ['GET', '/authorize?response_type=code', NO_OAUTH],
    ['POST', '/mcp/token/', NO_OAUTH],
    ['GET', '/registers', 'There is nothing at this address.'],
    ['GET', '/.well-known/security.txt', 'There is nothing at this address.'],
  ])('is told that OAuth is not used where it looks for it: %s %s', async (method, path, message) => {
    for (const options of [{ key: undefined }, { body: '{' }]) {
      const { status, json } = await app.send(method, path, options);
      expect([status, json]).toEqual([404, { code: 'route_not_found', message, status }]);
    }
  });
});
