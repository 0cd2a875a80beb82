import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { isScope } from '../src/auth';
import { startApp, type TestApp } from './support/app';
import { expectError } from './support/expect-error';

/** Everything that may be asked without a key. A new entry is a decision. */
const PUBLIC_ROUTES = ['/', '/docs', '/docs/*', '/livez', '/openapi.json', '/openapi.yaml', '/readyz'];

describe('routes', () => {
  const routes: RouteOptions[] = [];
  let app: TestApp;

  /** Fastify announces each new instance, before anything is registered with it. */
  function collectRoutes(message: unknown): void {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => void routes.push(route));
  }

  beforeAll(async () => {
    subscribe('fastify.initialization', collectRoutes);
    app = await startApp({}, (nest) => {
      const fastify = nest.getHttpAdapter().getInstance();
      fastify.get('/v1/forgotten', () => 'open');
      fastify.get('/forgotten', () => 'open');
    });
    unsubscribe('fastify.initialization', collectRoutes);
  });
  afterAll(() => app.close());

  it('each declares a scope, or stands in the short list of public ones', () => {
    const declared = routes.filter(
      ({ url, config }) => !url.endsWith('/forgotten') && config?.allow === undefined,
    );
    const isPublic = ({ config }: RouteOptions) => config?.public === true;
    const undeclared = declared.filter((route) => !isPublic(route) && !isScope(route.config?.scope ?? ''));
    expect(undeclared.map(({ method, url }) => `${String(method)} ${url}`)).toEqual([]);
    const open = declared.filter(isPublic).map(({ url }) => url.replace(/^\/docs\/.*/, '/docs/*'));
    expect([...new Set(open)].sort()).toEqual(PUBLIC_ROUTES);
    expect(declared.filter(({ url }) => url.startsWith('/v1')).length).toBeGreaterThan(4);
  });

  it('a route that declares neither answers nobody: 401 without a key, 403 with any', async () => {
    for (const path of ['/v1/forgotten', '/forgotten']) {
      expectError(await app.get(path, { key: undefined }), 401, 'missing_api_key');
      expectError(await app.get(path), 403, 'insufficient_scope');
    }
  });

  it('with the door taken away the guard refuses alike', async () => {
    const without = await startApp({}, (nest) => {
      // As if the door had been left out: no request counts as admitted, and no check has run.
      nest
        .getHttpAdapter()
        .getInstance()
        .addHook('preHandler', async (request) => {
          request.admitted = false;
          delete request.principal;
        });
    });
    expect((await without.get('/v1/pets')).status).toBe(200);
    const { key } = await without.createKey({ scopes: ['pets:read'] });
    expectError(
      await without.post('/v1/pets', { name: 'Rex', categoryId: 1 }, { key }),
      403,
      'insufficient_scope',
    );
    await without.close();
  });
});
