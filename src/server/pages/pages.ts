import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { REQUIRED_SCOPES } from '../../platform/api-docs/required-scopes';
import type { Config } from '../../platform/config/config';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { JSON_TYPE } from '../../platform/errors/api-error';
import { API_TITLE, API_VERSION, jsonText, yamlText } from '../openapi/document';

const PACKAGE_FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'));
const JAVASCRIPT = 'text/javascript; charset=utf-8';
/** Read at the start: a later version may replace the files. */
const read = (file: string): string => readFileSync(join(__dirname, file), 'utf8');
/** Reads a page with the styles and scripts that its comments name. */
const readPage = (file: string): string =>
  read(file).replaceAll(/\/\* (\S+\.(?:css|js)) \*\//g, (_, part: string) => read(part));
const ICON = read('icon.svg').trim();
const FRONT_PAGE = readPage('front-page.html');
const SWAGGER_UI = readPage('swagger-ui.html');
export const GUIDE_PAGE = readPage('guide-page.html');

/** The files of `swagger-ui-dist` that the page loads. Only these are served. */
const ASSETS = [
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', JAVASCRIPT],
] as const;

/** Serves the OpenAPI document at `/openapi.json` and `/openapi.yaml`, without a key. */
export function serveDocument(fastify: FastifyInstance, document: OpenAPIObject): void {
  serveStatic(fastify, '/openapi.json', () => [{ 'Content-Type': JSON_TYPE }, jsonText(document)]);
  // RFC 9512.
  const yaml = { 'Content-Type': 'application/yaml; charset=utf-8' };
  serveStatic(fastify, '/openapi.yaml', () => [yaml, yamlText(document)]);
}

/** Serves the icon of the pages, for browsers that show another document of the service. */
export function serveIcon(fastify: FastifyInstance): void {
  serveStatic(fastify, '/favicon.ico', () => [{ 'Content-Type': 'image/svg+xml' }, ICON]);
}

/** Serves Swagger UI at `/docs`, without a key and from memory. */
export function serveSwaggerUi(fastify: FastifyInstance, document: OpenAPIObject): void {
  const urls = () => (document.servers ?? []).map(({ url }) => url);
  serveStatic(fastify, '/docs', () => pageOf(SWAGGER_UI, {}, urls()));
  // Relative, so that it also works behind a proxy that adds a prefix.
  fastify.get('/docs/', { config: { public: true } }, (_request, reply) => reply.redirect('../docs'));
  for (const [name, type] of ASSETS) {
    const file = join(PACKAGE_FOLDER, name);
    serveStatic(fastify, `/docs/${name}`, () => [{ 'Content-Type': type }, readFileSync(file)]);
  }
}

type ScopedOperation = OperationObject & { readonly [REQUIRED_SCOPES]?: readonly string[] };

/**
 * Serves the public page at `/`: it shows what a key may do, and has a first program in several languages. Its script
 * sends the key to the configured base URL; if that is a path, to the address in the browser.
 */
export function serveFrontPage(
  fastify: FastifyInstance,
  { publicBaseUrl: base, mcpEnabled = true }: Config & { readonly mcpEnabled?: boolean },
  document: OpenAPIObject,
): void {
  serveStatic(fastify, '/', () => {
    const groups = new Map<string, Texts[]>();
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, value] of Object.entries(item)) {
        const operation: ScopedOperation = value;
        const { summary = '', [REQUIRED_SCOPES]: scopes = [], tags = [] } = operation;
        const note = operation.deprecated ? ' (deprecated)' : '';
        const texts = { method: method.toUpperCase(), path, summary, note, scopes: scopes.join(' ') };
        const group = groups.get(tags.join()) ?? [];
        groups.set(tags.join(), [...group, { ...texts, link: linkOf(operation) }]);
      }
    }
    const texts = {
      base,
      groups: Array.from(groups, ([name, operations]) => ({ name, operations })),
      agents: mcpEnabled ? [{}] : [],
    };
    return pageOf(FRONT_PAGE, texts, [base]);
  });
}

/** Returns the address of an operation in Swagger UI. */
function linkOf({ operationId = '', tags = [] }: OperationObject): string {
  return `docs#/${encodeURIComponent(tags.join())}/${operationId}`;
}

/** The texts of a page by name, and its lists, whose items have further texts. */
interface Texts {
  readonly [name: string]: string | readonly Texts[];
}

/**
 * Makes an HTML page. Its content security policy (CSP 3) allows the page's own inline styles and scripts
 * by hash, and files of this origin. It forbids other inline code, eval, frames and other hosts.
 *
 * @param texts replace `{{name}}` by name, escaped for HTML; a list repeats `{{#name}}…{{/name}}`
 * @param connectTo base URLs to which the page's scripts may send requests; a path is one of this origin
 */
export function pageOf(
  template: string,
  texts: Texts,
  connectTo: readonly string[] = [],
): [headers: { 'Content-Type': string }, html: string] {
  // The indentation is a quarter of a page, and comments help no browser; in a `<pre>` they are text.
  const html = template.replaceAll(/<pre.*?<\/pre>|^ *(?:\/\/ [^\n]*\n|\/\*.*?\*\/\n)?/gms, (part) =>
    part.startsWith('<') ? part : '',
  );
  const icon = `data:image/svg+xml,${ICON.replaceAll(/[<>#]/g, encodeURIComponent)}`;
  const page = fill(html, { api: API_TITLE, version: API_VERSION, icon, ...texts });
  const origins = connectTo.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin);
  const policy = [
    "default-src 'none'",
    ["script-src 'self'", ...hashesOf(page, /<script>(.*?)<\/script>/gs)].join(' '),
    ["style-src 'self'", ...hashesOf(page, /<style>(.*?)<\/style>/gs)].join(' '),
    "img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ];
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
  };
  return [headers, page];
}

function fill(template: string, texts: Texts): string {
  const part = /\{\{#(\w+)\}\}(.*?)\{\{\/\1\}\}|\{\{(\w+)\}\}/gs;
  return template.replaceAll(part, (_, list: string, inner: string, name: string) => {
    const value = texts[list ?? name] ?? '';
    if (typeof value !== 'string') return value.map((each) => fill(inner, { ...texts, ...each })).join('');
    return escapeHtml(value);
  });
}

/** Returns a text for an element or for an attribute in double quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function hashesOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
}
