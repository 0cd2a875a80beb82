import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify';
import { createStore } from '../src/app/store';
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
  '/livez',
  '/llms-full.txt',
  '/llms.txt',
  '/openapi.json',
  '/openapi.yaml',
  '/readyz',
];

/** Every route for any valid key. A new entry needs a decision. */
const ANY_KEY_ROUTES = ['/v1/key', '/mcp', '/v1/usage'];

/** Routes that a module adds to Fastify itself. */
const FORGOTTEN: [path: string, config: FastifyContextConfig][] = [
  ['/v1/forgotten', {}],
  ['/forgotten', {}],
  ['/v1/unguarded/forgotten', { scopes: ['pets:read'] }],
];

describe('routes', () => {
  const routes: RouteOptions[] = [];
  const rejections: unknown[] = [];
  /** The payloads that Fastify has sent. */
  const payloads: unknown[] = [];
  let app: TestApp;

  /** Fastify publishes each new instance before any route is registered. */
  function collectRoutes(message: unknown): void {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => void routes.push(route));
    fastify.addHook('onSend', (_request, _reply, payload, done) => {
      payloads.push(payload);
      done();
    });
  }

  beforeAll(async () => {
    subscribe('fastify.initialization', collectRoutes);
    app = await startApp(
      {},
      {
        beforeListen: (nest) => {
          const fastify = nest.getHttpAdapter().getInstance();
          for (const [path, config] of FORGOTTEN) {
            try {
              fastify.get(path, { config }, () => 'open');
            } catch (error) {
              rejections.push(error);
            }
          }
        },
      },
    );
    unsubscribe('fastify.initialization', collectRoutes);
  });
  afterAll(() => app.close());

  it('are public, or for any key, only if they are in these lists; all others declare a scope', () => {
    const declared = routes.filter(({ url, config }) => !url.endsWith('/forgotten') && !config?.unrouted);
    const { scopes } = createStore();
    const isPublic = ({ config }: RouteOptions) => config?.public === true;
    const isForAnyKey = ({ config }: RouteOptions) => config?.anyKey === true;
    const forAnyKey = declared.filter(isForAnyKey).map(({ url }) => url);
    expect([...new Set(forAnyKey)]).toEqual(ANY_KEY_ROUTES);
    const undeclared = declared.filter(
      (route) =>
        !isPublic(route) &&
        !isForAnyKey(route) &&
        !route.config?.scopes?.every((scope) => scopes.includes(scope as never)),
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
      for (const coding of ['identity', 'gzip']) {
        payloads.length = 0;
        const { status } = await app.get(path, { key: undefined, headers: { 'accept-encoding': coding } });
        expect([path, status < 400, payloads.length]).toEqual([path, true, 1]);
        const [payload = ''] = payloads;
        const isShort = typeof payload === 'string' && payload.length <= 16_000;
        expect([path, isShort || Buffer.isBuffer(payload)]).toEqual([path, true]);
      }
    }
  });

  it('without a declaration or a guard are rejected at registration and do not exist', async () => {
    expect(rejections.map(String)).toEqual([
      'Error: GET /v1/forgotten declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
      'Error: GET /forgotten declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
      'Error: No guard protects GET /v1/unguarded/forgotten: make its handler a method of a controller.',
    ]);
    for (const [path] of FORGOTTEN) {
      expectError(await app.get(path), 404, 'route_not_found');
      expect((await app.send('HEAD', path)).status).toBe(404);
    }
  });
});
