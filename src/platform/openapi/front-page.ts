import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config';
import { API_TITLE, API_VERSION } from './document';
import { pageHeaders } from './page-policy';
import { renderPage } from './page-template';

/**
 * Serves the public page at `/`, which links to the documentation and the health endpoints. It shows the configured
 * base URL; if that is a path, a script of the page completes it with the address in the browser.
 */
export function serveFrontPage(fastify: FastifyInstance, { publicBaseUrl }: Config): void {
  const html = renderPage('front-page.html', {
    title: API_TITLE,
    version: API_VERSION,
    base: publicBaseUrl,
  });
  const headers = pageHeaders(html);
  fastify.get('/', { config: { public: true } }, (_request, reply) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(html),
  );
}
