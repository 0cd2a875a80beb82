import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

const PATHS = { ui: 'docs', json: 'openapi.json', yaml: 'openapi.yaml' } as const;

/** Serves Swagger UI at /docs and the document at /openapi.json and /openapi.yaml, to anyone. */
export function serveDocument(app: NestFastifyApplication, document: OpenAPIObject): void {
  const fastify = app.getHttpAdapter().getInstance();
  const isOurs = /^\/(?:docs(?:$|[/-])|openapi\.(?:json|yaml)$)/;
  fastify.addHook('onRoute', (route) => {
    if (isOurs.test(route.url)) route.config = { ...route.config, public: true };
  });
  SwaggerModule.setup(PATHS.ui, app, document, {
    jsonDocumentUrl: PATHS.json,
    yamlDocumentUrl: PATHS.yaml,
    customSiteTitle: 'Animal Store API',
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true },
  });
}
