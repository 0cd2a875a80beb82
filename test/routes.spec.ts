import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify';
import { createStore } from '../src/app/store';
import { ANY_KEY, SCOPES } from '../src/api/routes/route-facts';
import { startApp, type TestApp } from './support/app';
import { expectError } from './support/expect-error';

/** Every route without a key. A new entry needs a decision. */
const PUBLIC_ROUTES = [
  '/',
  '/docs',
  '/docs/*',
  '/favicon.ico',
  '/guide',
  '/guide/agents',
  '/guide/details',
  '/guide/errors',
  '/guide/events',
  '/guide/front-page.js',
  '/guide/pages.css',
  '/livez',
  '/llms.txt',
  '/openapi.json',
  '/openapi.yaml',
  '/readyz',
];

/** Every route for any valid key. A new entry needs a decision. */
const ANY_KEY_ROUTES = ['/v1/key', '/mcp', '/v1/usage'];

/** Routes that a module adds to Fastify itself. */
const FORGOTTEN: [path: string, config: FastifyContextConfig][] = [
  ['/forgotten', {}],
  ['/v1/unguarded/forgotten', { scopes: ['pets:read'] } as object],
];

const ABSOLUTE = 'https://api.example.com/store/v1';

const routes: RouteOptions[] = [];
const rejections: unknown[] = [];
/** The payloads that Fastify has sent. */
const payloads: unknown[] = [];

/** Fastify publishes each new instance before any route is registered. */
function collectRoutes(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook('onRoute', (route) => void routes.push(route));
  fastify.addHook('onSend', (_request, _reply, payload, done) => {
    payloads.push(payload);
    done();
  });
}

function addForgotten(nest: NestFastifyApplication): void {
  for (const [path, config] of FORGOTTEN) {
    try {
      nest
        .getHttpAdapter()
        .getInstance()
        .get(path, { config }, () => 'open');
    } catch (error) {
      rejections.push(error);
    }
  }
}

/** For all tests; test/support/app closes it. */
let app: TestApp;
beforeAll(async () => {
  subscribe('fastify.initialization', collectRoutes);
  app = await startApp({ corsOrigins: ['https://shop.example'], port: 0 }, { beforeListen: addForgotten });
  unsubscribe('fastify.initialization', collectRoutes);
});

describe('routes', () => {
  it('are public, or for any key, only if they are in these lists; all others declare a scope', () => {
    // @fastify/cors handles preflights by the route `*`.
    const declared = routes.filter(
      ({ url, config }) => url !== '*' && !url.endsWith('/forgotten') && !config?.unrouted,
    );
    const { scopes } = createStore();
    const isPublic = ({ config }: RouteOptions) => config?.public === true;
    const isForAnyKey = ({ config }: RouteOptions) => config?.[SCOPES]?.join() === ANY_KEY;
    const forAnyKey = declared.filter(isForAnyKey).map(({ url }) => url);
    expect([...new Set(forAnyKey)]).toEqual(ANY_KEY_ROUTES);
    const undeclared = declared.filter(
      (route) =>
        !isPublic(route) &&
        !isForAnyKey(route) &&
        !route.config?.[SCOPES]?.every((scope) => scopes.includes(scope as never)),
    );
    expect(undeclared.map(({ method, url }) => `${String(method)} ${url}`)).toEqual([]);
    const open = declared.filter(isPublic).map(({ url }) => url.replace(/^\/docs\/.*/, '/docs/*'));
    expect([...new Set(open)].sort()).toEqual(PUBLIC_ROUTES);
    expect(declared.filter(({ url }) => url.startsWith('/v1')).length).toBeGreaterThan(4);
  });

  // A pending response with a stream would hold a file open. Node.js would encode a long string for each response.
  it('that are public send what is in memory: bytes, or a string of at most 16 kB', async () => {
    const open = routes.filter(({ method, config }) => method === 'GET' && config?.public === true);
    const paths = [...new Set(open.map(({ url }) => url.replace(':code', 'validation_failed')))];
    expect(paths.length).toBeGreaterThan(PUBLIC_ROUTES.length);
    for (const path of paths) {
      payloads.length = 0;
      const { status } = await app.get(path, { key: undefined });
      expect([path, status < 400, payloads.length]).toEqual([path, true, 1]);
      const [payload = ''] = payloads;
      const isShort = typeof payload === 'string' && payload.length <= 16_000;
      expect([path, isShort || Buffer.isBuffer(payload)]).toEqual([path, true]);
    }
  });

  it('without a declaration or a guard are rejected at registration and do not exist', async () => {
    expect(rejections.map(String)).toEqual([
      'Error: GET /forgotten declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler, which must be a method of a controller.',
      'Error: GET /v1/unguarded/forgotten declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler, which must be a method of a controller.',
    ]);
    for (const [path] of FORGOTTEN) {
      expectError(await app.get(path), 404, 'route_not_found');
      expect((await app.send('HEAD', path)).status).toBe(404);
    }
  });
});

describe('the guide at the service', () => {
  const read = async (path: string) => (await app.get(path, { key: '' })).text;
  const linksIn = (page: string) => [...page.matchAll(/ href="(?!data:)([^"]*)"/g)].map(([, link]) => link!);

  it('has pages, without a key, whose links, like those of the front page, lead to pages and places that exist', async () => {
    const seen = new Map<string, string>();
    const missing: string[] = [];
    const open = async (url: URL) => {
      const page = seen.get(url.pathname) ?? (await read(url.pathname));
      seen.set(url.pathname, page);
      return page;
    };
    const guide = ['', 'guide', 'guide/events', 'guide/errors', 'guide/details', 'guide/agents'];
    for (const start of guide) {
      const base = new URL(start, 'http://animal-store.test/');
      for (const link of linksIn(await open(base))) {
        const url = new URL(link, base);
        if (url.host !== base.host) continue;
        const page = await open(url);
        const [, anchor = ''] = /^#([^/].*)/.exec(decodeURIComponent(url.hash)) ?? [];
        if (/"status":404/.test(page) || (anchor && !page.includes(`id="${anchor}"`))) missing.push(url.href);
      }
    }
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining(['/guide/events', '/docs', '/', '/readyz', '/openapi.yaml']),
    );
    expect(missing).toEqual([]);
  });

  it('has headings, tables, and code; no Markdown and no document of the package is left', async () => {
    const page = await read('/guide');
    expect(page).toMatch(/<title>Guide for clients · Animal Store<\/title>/);
    expect(page).toMatch(/<h1 id="guide-for-clients">Guide for clients<\/h1>/);
    expect(page).toMatch(/<pre><code class="language-text">\$ /);
    expect(page).toMatch(/<table>/);
    expect(page.replaceAll(/<pre.*?<\/pre>/gs, '')).not.toMatch(/\]\(|^#|\*\*|href="[^"]*\.md/m);
    expect(page).not.toContain('<!--');
  });

  it('is found from every page and the document', async () => {
    for (const path of ['/', '/docs']) expect(linksIn(await read(path))).toContain('./guide');
    expect(JSON.parse(await read('/openapi.json')).externalDocs.url).toBe('/guide');
  });

  it('stays if DOCS_ENABLED=false, as the document and llms.txt do, without links to what is off, which is 404', async () => {
    const settings = { docsEnabled: false, mcpEnabled: false, publicBaseUrl: ABSOLUTE };
    const other = await startApp(settings, { beside: app });
    for (const key of ['', app.key])
      expectError(await other.post('/mcp', {}, { key }), 404, 'route_not_found');
    const { text: links } = await other.get('/llms.txt', { key: '' });
    expect(links).toContain('(https://api.example.com/store/openapi.json)');
    expect(links).not.toMatch(/\/docs|\/mcp/);
    for (const path of ['/', '/docs', '/docs/swagger-ui.css'])
      expectError(await other.get(path, { key: '' }), 404, 'route_not_found');
    for (const path of ['/openapi.yaml', '/guide/errors']) {
      const { status, text } = await other.get(path, { key: '' });
      expect([path, status, /href="[^"]*\/docs"/.test(text)]).toEqual([path, 200, false]);
    }
    const page = await other.get('/guide', { key: '' });
    expect([page.status, linksIn(page.text).filter((link) => /docs|^\.\/$/.test(link))]).toEqual([200, []]);
    const { externalDocs } = (await other.get('/openapi.json')).json;
    expect(externalDocs.url).toBe('https://api.example.com/store/guide');
    await other.close();
  });
});
