import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { jsonText, yamlText } from './document-text';

/** Serves Swagger UI at /docs and the document at /openapi.json and /openapi.yaml, to anyone. */
export function serveDocument(app: NestFastifyApplication, document: OpenAPIObject): void {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRoute', (route) => {
    if (/^\/docs(?:$|\/)/.test(route.url)) route.config = { ...route.config, public: true };
  });
  SwaggerModule.setup('docs', app, document, {
    raw: false,
    customSiteTitle: 'Animal Store API',
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true },
  });
  const [json, yaml] = [jsonText(document), yamlText(document)];
  const config = { public: true };
  fastify.get('/openapi.json', { config }, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(json),
  );
  // RFC 9512.
  fastify.get('/openapi.yaml', { config }, (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(yaml),
  );
}
