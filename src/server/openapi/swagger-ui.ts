import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { API_TITLE } from './document';
import { jsonText } from './document-text';
import { originsOf, pageHeaders } from './page-policy';
import { renderPage } from './page-template';

const PACKAGE_FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'));
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The files that the page loads, with their media types and places. Only these are served. */
const ASSETS: Readonly<Record<string, readonly [type: string, path: string]>> = {
  'swagger-ui.css': [CSS, join(PACKAGE_FOLDER, 'swagger-ui.css')],
  'swagger-ui-bundle.js': [JAVASCRIPT, join(PACKAGE_FOLDER, 'swagger-ui-bundle.js')],
  'favicon-32x32.png': ['image/png', join(PACKAGE_FOLDER, 'favicon-32x32.png')],
};

/** Swagger UI shows operations in the order of the document unless a sorter is set. */
const OPTIONS = {
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  // `x-required-scopes` of each operation.
  showExtensions: true,
};

/** Serves Swagger UI at `/docs`, without a key and from memory. */
export function serveSwaggerUi(fastify: FastifyInstance, document: OpenAPIObject): void {
  const html = renderPage('swagger-ui.html', { title: API_TITLE });
  const connectTo = originsOf((document.servers ?? []).map(({ url }) => url));
  serveStatic(fastify, '/docs', pageHeaders(html, { connectTo }), () => html);
  // Relative, so that it also works behind a proxy that adds a prefix.
  fastify.get('/docs/', { config: { public: true } }, (_request, reply) => reply.redirect('../docs'));
  for (const [name, [type, path]] of Object.entries(ASSETS)) {
    serveStatic(fastify, `/docs/${name}`, { 'Content-Type': type }, () => readFileSync(path));
  }
  const script = () => initScript(document);
  serveStatic(fastify, '/docs/swagger-ui-init.js', { 'Content-Type': JAVASCRIPT }, script);
}

/** Puts the document into the script, so that Swagger UI does not request it. JSON is JavaScript. */
function initScript(document: OpenAPIObject): string {
  const options = JSON.stringify(OPTIONS, undefined, 2);
  return `window.ui = SwaggerUIBundle({ spec: ${jsonText(document)}, ...${options} });\n`;
}
