import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../platform/config/config';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { JSON_TYPE } from '../../platform/errors/api-error';
import { jsonText, yamlText } from '../openapi/document';

const SWAGGER_UI = dirname(require.resolve('swagger-ui-dist/package.json'));
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Read at the start: a later version may replace the files. */
const read = (file: string): string => readFileSync(join(__dirname, file), 'utf8');
const ICON = read('icon.svg');
const STYLE = read('pages.css');
const FRONT_PAGE = { html: read('front-page.html'), script: read('front-page.js') };
const DOCS = { html: read('docs.html'), style: read('docs.css'), script: read('docs.js') };

/** Serves the OpenAPI document at `/openapi.json` and `/openapi.yaml`, without a key. */
export function serveDocument(fastify: FastifyInstance, document: OpenAPIObject): void {
  serveStatic(fastify, '/openapi.json', () => [{ 'Content-Type': JSON_TYPE }, jsonText(document)]);
  // RFC 9512.
  const yaml = { 'Content-Type': 'application/yaml; charset=utf-8' };
  serveStatic(fastify, '/openapi.yaml', () => [yaml, yamlText(document)]);
}

/** Serves the icon, for every page, and the style of the front page and the guide. */
export function serveStyle(fastify: FastifyInstance): void {
  serveStatic(fastify, '/favicon.ico', () => [{ 'Content-Type': 'image/svg+xml' }, ICON]);
  serveStatic(fastify, '/guide/pages.css', () => [{ 'Content-Type': CSS }, STYLE]);
}

/** Serves Swagger UI at `/docs`, without a key and from memory. Of its package it needs two files. */
export function serveSwaggerUi(fastify: FastifyInstance, document: OpenAPIObject): void {
  const urls = (document.servers ?? []).map(({ url }) => url);
  serveStatic(fastify, '/docs', () => [pageHeaders(urls), DOCS.html]);
  // Relative, so that it also works behind a proxy that adds a prefix.
  fastify.get('/docs/', { config: { public: true } }, (_request, reply) => reply.redirect('../docs'));
  serveStatic(fastify, '/docs/docs.css', () => [{ 'Content-Type': CSS }, DOCS.style]);
  serveStatic(fastify, '/docs/docs.js', () => [{ 'Content-Type': JAVASCRIPT }, DOCS.script]);
  for (const [file, type] of Object.entries({ 'swagger-ui.css': CSS, 'swagger-ui-bundle.js': JAVASCRIPT })) {
    const path = join(SWAGGER_UI, file);
    serveStatic(fastify, `/docs/${file}`, () => [{ 'Content-Type': type }, readFileSync(path)]);
  }
}

/**
 * Serves the public page at `/`. Its script sends the key to the configured base URL; if that is a path, to the address in
 * the browser. The script is below `/guide`, because a proxy may have no `/docs`.
 */
export function serveFrontPage(fastify: FastifyInstance, { publicBaseUrl }: Config): void {
  // No other character of a base URL has a meaning in HTML.
  const html = FRONT_PAGE.html.replaceAll('{{base}}', publicBaseUrl.replaceAll('&', '&amp;'));
  serveStatic(fastify, '/', () => [pageHeaders([publicBaseUrl]), html]);
  serveStatic(fastify, '/guide/front-page.js', () => [{ 'Content-Type': JAVASCRIPT }, FRONT_PAGE.script]);
}

/**
 * Returns the headers of an HTML page. Its content security policy (CSP 3) allows files of this origin. It forbids inline
 * code, eval, frames and other hosts.
 *
 * @param connectTo base URLs to which the page's scripts may send requests; a path is one of this origin
 */
export function pageHeaders(connectTo: readonly string[] = []) {
  const origins = connectTo.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin);
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': [
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:",
      ["connect-src 'self'", ...origins].join(' '),
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ].join('; '),
    'Referrer-Policy': 'no-referrer',
  };
}
