import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { AppModule } from '../src/app.module';
import { isScope } from '../src/auth';
import { readConfig } from '../src/config/config';
import { createDocument } from '../src/openapi/document';
import { addResponseSchemas } from '../src/openapi/response-schemas';
import { UndeclaredRoute } from './modules/support/mistaken.modules';
import { startApp, type TestApp } from './support/app';
import { expectError } from './support/expect-error';
import { send } from './support/http';

/** Everything that may be asked without a key. A new entry is a decision. */
const PUBLIC_ROUTES = ['/', '/docs', '/docs/*', '/livez', '/openapi.json', '/openapi.yaml', '/readyz'];

describe('routes', () => {
  const routes: RouteOptions[] = [];
  const refusals: unknown[] = [];
  let app: TestApp;

  /** Fastify announces each new instance, before anything is registered with it. */
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
              refusals.push(error);
            }
          }
        },
      },
    );
    unsubscribe('fastify.initialization', collectRoutes);
  });
  afterAll(() => app.close());

  it('those that are public stand in a short list, the others declare a scope', () => {
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

  it('one that declares neither is rejected as it is registered, and does not exist', async () => {
    expect(refusals.map(String)).toEqual([
      'Error: GET /v1/forgotten declares neither a scope nor that it is public: add @RequireScope(…) or @Public() to its handler.',
      'Error: GET /forgotten declares neither a scope nor that it is public: add @RequireScope(…) or @Public() to its handler.',
    ]);
    for (const path of ['/v1/forgotten', '/forgotten']) {
      expectError(await app.get(path), 404, 'route_not_found');
      expect((await app.send('HEAD', path)).status).toBe(404);
    }
  });

  it('without the request checks the guards reject alike, a route without a scope included', async () => {
    const config = { ...readConfig({}), databaseUrl: app.database.url };
    const doorless = await NestFactory.create<NestFastifyApplication>(
      AppModule.forRoot(config, app.clock, [UndeclaredRoute]),
      new FastifyAdapter(),
      { logger: false },
    );
    doorless.enableVersioning({ type: VersioningType.URI });
    await doorless.init();
    addResponseSchemas(doorless.getHttpAdapter().getInstance(), createDocument(doorless, config));
    await doorless.listen(0, '127.0.0.1');
    const url = await doorless.getUrl();
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    const body = { name: 'Rex', categoryId: 1 };
    // The headers of every response are set at the door.
    const isDocumented = false;
    expect((await send(url, 'GET', '/v1/pets', { key, isDocumented })).status).toBe(200);
    expectError(await send(url, 'GET', '/v1/pets', { isDocumented }), 401, 'missing_api_key');
    expectError(await send(url, 'POST', '/v1/pets', { key, body, isDocumented }), 403, 'insufficient_scope');
    expectError(await send(url, 'GET', '/v1/lab/open'), 401, 'missing_api_key');
    expectError(await send(url, 'GET', '/v1/lab/open', { key: app.key }), 500, 'internal_error');
    expect((await send(url, 'GET', '/livez')).status).toBe(200);
    await doorless.close();
  });
});
