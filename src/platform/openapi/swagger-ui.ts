import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stringify } from 'lossless-json';
import { sendError } from '../errors/error-reply';
import { preconditionFailed } from '../errors/http.errors';
import { entityTagOf, failsIfMatch, isNotModified } from '../http/entity-tag';
import { API_TITLE } from './document';
import { pageHeaders } from './page-policy';
import { renderPage } from './page-template';

const PACKAGE_FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'));

/** The files that the page loads from the package, with their media types. Only these are served. */
const ASSETS = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

/** Swagger UI shows operations in the order of the document unless a sorter is set. */
const OPTIONS = {
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  persistAuthorization: true,
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
  for (const [name, type] of Object.entries(ASSETS)) {
    serveAsset(fastify, name, { type, bytes: readFileSync(join(PACKAGE_FOLDER, name)) });
  }
  const script = Buffer.from(initScript(document));
  serveAsset(fastify, 'swagger-ui-init.js', { type: 'text/javascript; charset=utf-8', bytes: script });
}

function servePage(fastify: FastifyInstance, url: string, folder: string, document: OpenAPIObject): void {
  const html = renderPage('swagger-ui.html', { title: API_TITLE, folder });
  const headers = pageHeaders(html, { connectTo: originsOf(document) });
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
      if (failsIfMatch(headers, tag)) return sendError(reply, preconditionFailed());
      reply.headers({ ETag: tag, 'Cache-Control': 'no-cache' });
      return isNotModified(headers, tag) ? reply.code(304).send() : reply.type(type).send(bytes);
    },
  );
}

/** Puts the document into the script, so that Swagger UI does not request it. */
function initScript(document: OpenAPIObject): string {
  const options = stringify({ spec: document, ...OPTIONS }, undefined, 2);
  return `window.ui = SwaggerUIBundle(${options});\n`;
}

/** Lists the origins of the servers, which "Try it out" may send requests to. */
function originsOf({ servers = [] }: OpenAPIObject): string[] {
  return servers.filter(({ url }) => URL.canParse(url)).map(({ url }) => new URL(url).origin);
}
