import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendError } from '../errors/error-reply';
import { platformErrors } from '../errors/platform.errors';
import { entityTagOf, failsIfMatch, isNotModified } from '../http/representation';
import { API_TITLE } from './document';
import { jsonText } from './document-text';
import { originsOf, pageHeaders } from './page-policy';
import { renderPage } from './page-template';
import { withStandIns } from './stand-ins';

const PACKAGE_FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'));
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The files that the page loads, with their media types and places. Only these are served. */
const ASSETS: Readonly<Record<string, readonly [type: string, path: string]>> = {
  'swagger-ui.css': [CSS, join(PACKAGE_FOLDER, 'swagger-ui.css')],
  'swagger-ui-bundle.js': [JAVASCRIPT, join(PACKAGE_FOLDER, 'swagger-ui-bundle.js')],
  'favicon-32x32.png': ['image/png', join(PACKAGE_FOLDER, 'favicon-32x32.png')],
  'lossless-json.js': [JAVASCRIPT, require.resolve('lossless-json')],
  'swagger-ui-exact-integers.js': [JAVASCRIPT, join(__dirname, 'swagger-ui-exact-integers.js')],
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

/** A file in memory. All responses share its buffer, so an unread response holds no copy and no file descriptor. */
interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Serves Swagger UI at `/docs`, without a key and from memory. */
export function serveSwaggerUi(fastify: FastifyInstance, document: OpenAPIObject): void {
  // Relative folders, so that the page also works behind a proxy that adds a prefix.
  for (const [url, folder] of [
    ['/docs', './docs/'],
    ['/docs/', './'],
    ['/docs/index.html', './'],
  ] as const) {
    servePage(fastify, url, folder, document);
  }
  for (const [name, [type, path]] of Object.entries(ASSETS)) {
    serveAsset(fastify, name, { type, bytes: readFileSync(path) });
  }
  const script = Buffer.from(initScript(document));
  serveAsset(fastify, 'swagger-ui-init.js', { type: JAVASCRIPT, bytes: script });
}

function servePage(
  fastify: FastifyInstance,
  url: string,
  folder: string,
  { servers = [] }: OpenAPIObject,
): void {
  const html = renderPage('swagger-ui.html', { title: API_TITLE, folder });
  const headers = pageHeaders(html, { connectTo: originsOf(servers.map((server) => server.url)) });
  fastify.get(url, { config: { public: true } }, (_request, reply) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(html),
  );
}

function serveAsset(fastify: FastifyInstance, name: string, { type, bytes }: Asset): void {
  const tag = entityTagOf(bytes);
  fastify.get(
    `/docs/${name}`,
    { config: { public: true } },
    ({ headers }: FastifyRequest, reply: FastifyReply) => {
      if (failsIfMatch(headers, tag)) return sendError(reply, platformErrors.precondition_failed());
      reply.headers({ ETag: tag, 'Cache-Control': 'no-cache' });
      return isNotModified(headers, tag) ? reply.code(304).send() : reply.type(type).send(bytes);
    },
  );
}

/** Puts the document into the script, so that Swagger UI does not request it. */
function initScript(openapi: OpenAPIObject): string {
  const { document, standIns } = withStandIns(jsonText(openapi));
  const options = JSON.stringify({ spec: document, ...OPTIONS }, undefined, 2);
  const plugins = `[exactIntegers(${JSON.stringify(standIns)})]`;
  return `window.ui = SwaggerUIBundle({ plugins: ${plugins}, ...${options} });\n`;
}
