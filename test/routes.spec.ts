import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { AppModule } from '../src/app/app.module';
import { planTable } from '../src/accounts';
import { createStore } from '../src/app/store';
import { readConfig } from '../src/platform/config/config';
import { createDocument } from '../src/platform/openapi/document';
import { addResponseSchemas } from '../src/platform/openapi/response-schemas';
import { UndeclaredRoute } from './modules/support/mistaken.modules';
import { startApp, type TestApp } from './support/app';
import { hasPreparedStatements } from './support/database';
import { expectError } from './support/expect-error';
import { send } from './support/http';

/** Every route without a key. A new entry needs a decision. */
const PUBLIC_ROUTES = [
  '/',
  '/.well-known/api-catalog',
  '/docs',
  '/docs/*',
  '/livez',
  '/llms.txt',
  '/openapi.json',
  '/openapi.yaml',
  '/problems/:code',
  '/readyz',
];

/** Every route for any valid key. A new entry needs a decision. */
const ANY_KEY_ROUTES = ['/v1/key', '/mcp'];

describe('routes', () => {
  const routes: RouteOptions[] = [];
  const rejections: unknown[] = [];
  let app: TestApp;

  /** Fastify publishes each new instance before any route is registered. */
  function collectRoutes(message: unknown): void {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => void routes.push(route));
  }

  beforeAll(async () => {
    subscribe('fastify.initialization', collectRoutes);
    app = await startApp(
      {},
      {
        beforeListen: (nest) => {
          const fastify = nest.getHttpAdapter().getInstance();
          for (const path of ['/v1/forgotten', '/forgotten']) {
            try {
              fastify.get(path, () => 'open');
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
    const declared = routes.filter(
      ({ url, config }) => !url.endsWith('/forgotten') && config?.allow === undefined,
    );
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

  it('without a declaration are rejected at registration and do not exist', async () => {
    expect(rejections.map(String)).toEqual([
      'Error: GET /v1/forgotten declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
      'Error: GET /forgotten declares no scope and is not public: add @Operation({ scope, … }), @RequireScope(…) or @Public() to its handler.',
    ]);
    for (const path of ['/v1/forgotten', '/forgotten']) {
      expectError(await app.get(path), 404, 'route_not_found');
      expect((await app.send('HEAD', path)).status).toBe(404);
    }
  });

  it('are protected by the guards if the request checks are not installed', async () => {
    const environment = { DATABASE_PREPARED_STATEMENTS: String(hasPreparedStatements()) };
    const config = { ...readConfig(environment), databaseUrl: app.database.url };
    const store = createStore([{ name: 'team', modules: [UndeclaredRoute] }]);
    const unchecked = await NestFactory.create<NestFastifyApplication>(
      AppModule.forRoot(config, app.clock, store),
      new FastifyAdapter(),
      { logger: false },
    );
    unchecked.enableVersioning({ type: VersioningType.URI });
    await unchecked.init();
    addResponseSchemas(
      unchecked.getHttpAdapter().getInstance(),
      createDocument(unchecked, config, store, planTable()),
    );
    await unchecked.listen(0, '127.0.0.1');
    const url = await unchecked.getUrl();
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    const body = { name: 'Rex', categoryId: 1 };
    // Without the hooks of create-app.ts responses lack the common headers.
    const isDocumented = false;
    expect((await send(url, 'GET', '/v1/pets', { key, isDocumented })).status).toBe(200);
    expectError(await send(url, 'GET', '/v1/pets', { isDocumented }), 401, 'missing_api_key');
    expectError(await send(url, 'POST', '/v1/pets', { key, body, isDocumented }), 403, 'insufficient_scope');
    expectError(await send(url, 'GET', '/v1/lab/open'), 401, 'missing_api_key');
    expectError(await send(url, 'GET', '/v1/lab/open', { key: app.key }), 500, 'internal_error');
    expect((await send(url, 'GET', '/livez')).status).toBe(200);
    await unchecked.close();
  });
});
