import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config';
import { API_TITLE, API_VERSION } from './document';
import { pageHeaders } from './page-policy';

const TEMPLATE = readFileSync(join(__dirname, 'front-page.html'), 'utf8');

/**
 * Serves the page at / that leads to the documentation and to the health of the service, to anyone. Its base address is
 * the configured one; where that is a path, a script of the page completes it by the address in the browser.
 */
export function serveFrontPage(fastify: FastifyInstance, { publicBaseUrl }: Config): void {
  const values: Readonly<Record<string, string>> = {
    title: API_TITLE,
    version: API_VERSION,
    base: escaped(publicBaseUrl),
  };
  const html = TEMPLATE.replaceAll(/\{\{(\w+)\}\}/g, (_match, name: string) => values[name] ?? '');
  const headers = pageHeaders(html);
  fastify.get('/', { config: { public: true } }, (_request, reply) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(html),
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
