import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { dirname, join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../platform/config/config';
import { serveStatic, StaticContent } from '../../platform/entity-tags/static-content';
import { codeOfStatus, isClientError } from '../../platform/errors/api-error';
import { JSON_TYPE } from '../../platform/errors/media-types';
import { platformErrors } from '../../platform/errors/platform.errors';
import { titleOf } from '../../platform/errors/problem-details';
import { sendError } from '../error.filter';
import type { Codes } from './codes';
import { API_TITLE, API_VERSION, jsonText, yamlText } from './document';
import { sentence } from './responses';

const PACKAGE_FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'));
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The files of `swagger-ui-dist` that the page loads, with their media types. Only these are served. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': JAVASCRIPT,
  'favicon-32x32.png': 'image/png',
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

/** A status without a reason phrase. */
const UNNAMED_STATUS = 499;

/** Serves the OpenAPI document at `/openapi.json` and `/openapi.yaml`, without a key. */
export function serveDocument(fastify: FastifyInstance, document: OpenAPIObject): void {
  serveStatic(fastify, '/openapi.json', { 'Content-Type': JSON_TYPE }, () => jsonText(document));
  // RFC 9512.
  const yaml = { 'Content-Type': 'application/yaml; charset=utf-8' };
  serveStatic(fastify, '/openapi.yaml', yaml, () => yamlText(document));
}

/** Serves Swagger UI at `/docs`, without a key and from memory. */
export function serveSwaggerUi(fastify: FastifyInstance, document: OpenAPIObject): void {
  const urls = (document.servers ?? []).map(({ url }) => url);
  serveStatic(fastify, '/docs', ...pageOf('swagger-ui.html', { title: API_TITLE }, urls));
  // Relative, so that it also works behind a proxy that adds a prefix.
  fastify.get('/docs/', { config: { public: true } }, (_request, reply) => reply.redirect('../docs'));
  for (const [name, type] of Object.entries(ASSETS)) {
    const read = () => readFileSync(join(PACKAGE_FOLDER, name));
    serveStatic(fastify, `/docs/${name}`, { 'Content-Type': type }, read);
  }
  // The page has the document in its script, so Swagger UI does not request it. JSON is JavaScript.
  const options = JSON.stringify(OPTIONS, undefined, 2);
  const script = () => `window.ui = SwaggerUIBundle({ spec: ${jsonText(document)}, ...${options} });\n`;
  serveStatic(fastify, '/docs/swagger-ui-init.js', { 'Content-Type': JAVASCRIPT }, script);
}

/** The setting of agents belongs to an extension. */
type FrontPageConfig = Config & { readonly mcpEnabled?: boolean };

/**
 * Serves the public page at `/`: it shows what a key may do, and links to the documentation and the health endpoints.
 * Its script sends the key to the configured base URL; if that is a path, to the address in the browser.
 */
export function serveFrontPage(
  fastify: FastifyInstance,
  { publicBaseUrl: base, mcpEnabled = true }: FrontPageConfig,
): void {
  // An attribute of HTML.
  const agents = mcpEnabled ? '' : 'hidden';
  const values = { title: API_TITLE, version: API_VERSION, base, agents };
  serveStatic(fastify, '/', ...pageOf('front-page.html', values, [base]));
}

/**
 * Serves a public page about each code, at the address in `type` of problem details.
 *
 * @param codes the codes of the document; they replace those that only a status has
 */
export function serveProblemPages(fastify: FastifyInstance, codes: Codes): void {
  const statuses = [...Object.keys(STATUS_CODES).map(Number).filter(isClientError), UNNAMED_STATUS];
  const when = 'an operation rejects the request for a reason of its own';
  const known = [...statuses.map((status) => ({ ...codeOfStatus(status), when })), ...codes];
  const pages = new Map(
    known.map((error) => {
      const status = `${error.status} ${STATUS_CODES[error.status] ?? ''}`.trimEnd();
      const { code } = error;
      const values = { api: API_TITLE, title: titleOf(code), code, status, when: sentence(error.when) };
      return [code, new StaticContent(...pageOf('problem-page.html', values))];
    }),
  );
  fastify.get<{ Params: { code: string } }>(
    '/problems/:code',
    { config: { public: true, entityTag: true } },
    (request, reply) =>
      pages.get(request.params.code)?.send(request, reply) ??
      sendError(reply, platformErrors.route_not_found()),
  );
}

type Headers = Readonly<Record<'Content-Type' | 'Content-Security-Policy' | 'Referrer-Policy', string>>;

/**
 * Reads an HTML page of this folder. Its content security policy (CSP 3) allows the page's own inline styles and scripts
 * by hash, and files of this origin. It forbids other inline code, eval, frames and other hosts.
 *
 * @param values replace `{{name}}` by name, escaped for HTML
 * @param connectTo base URLs to which the page's scripts may send requests; a path is one of this origin
 */
function pageOf(
  file: string,
  values: Readonly<Record<string, string>>,
  connectTo: readonly string[] = [],
): [headers: Headers, make: () => string] {
  const template = readFileSync(join(__dirname, file), 'utf8');
  const html = template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => escapeHtml(values[name] ?? ''));
  const origins = connectTo.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin);
  const policy = [
    "default-src 'none'",
    ["script-src 'self'", ...hashesOf(html, /<script>(.*?)<\/script>/gs)].join(' '),
    ["style-src 'self'", ...hashesOf(html, /<style>(.*?)<\/style>/gs)].join(' '),
    "img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
  };
  return [headers, () => html];
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function hashesOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
}
