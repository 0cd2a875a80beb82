import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { dirname, join } from 'node:path';
import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { REQUIRED_SCOPES } from '../../platform/api-docs/required-scopes';
import type { Config } from '../../platform/config/config';
import { serveStatic, StaticContent } from '../../platform/entity-tags/static-content';
import { codeOfStatus, isClientError } from '../../platform/errors/api-error';
import { JSON_TYPE } from '../../platform/errors/media-types';
import { platformErrors } from '../../platform/errors/platform.errors';
import { titleOf } from '../../platform/errors/problem-details';
import { type Codes, operationsOf, rejectedCodes } from '../openapi/codes';
import { API_TITLE, API_VERSION, jsonText, yamlText } from '../openapi/document';
import { fixOf, guidePartOf } from './fixes';
import { slimDocument } from '../openapi/slim-document';

const PACKAGE_FOLDER = dirname(require.resolve('swagger-ui-dist/package.json'));
const JAVASCRIPT = 'text/javascript; charset=utf-8';
/** Read at the start: a later version may replace the files. */
const read = (file: string): string => readFileSync(join(__dirname, file), 'utf8');
/** Reads a page with the styles and scripts that its comments name. */
const readPage = (file: string): string =>
  read(file).replaceAll(/\/\* (\S+\.(?:css|js)) \*\//g, (_, part: string) => read(part));
const ICON = read('icon.svg').trim();
const FRONT_PAGE = readPage('front-page.html');
const PROBLEM_PAGE = readPage('problem-page.html');
const PROBLEMS = readPage('problems.html');
const SWAGGER_UI = readPage('swagger-ui.html');
export const GUIDE_PAGE = readPage('guide-page.html');

/** The files of `swagger-ui-dist` that the page loads. Only these are served. */
const ASSETS = [
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', JAVASCRIPT],
] as const;

/** Serves the OpenAPI document at `/openapi.json` and `/openapi.yaml`, without a key. */
export function serveDocument(fastify: FastifyInstance, document: () => OpenAPIObject): void {
  serveStatic(fastify, '/openapi.json', () => [{ 'Content-Type': JSON_TYPE }, jsonText(document())]);
  // RFC 9512.
  const yaml = { 'Content-Type': 'application/yaml; charset=utf-8' };
  serveStatic(fastify, '/openapi.yaml', () => [yaml, yamlText(document())]);
}

/** Serves the icon of the pages, for browsers that show another document of the service. */
export function serveIcon(fastify: FastifyInstance): void {
  serveStatic(fastify, '/favicon.ico', () => [{ 'Content-Type': 'image/svg+xml' }, ICON]);
}

/** Serves Swagger UI at `/docs`, without a key and from memory. */
export function serveSwaggerUi(fastify: FastifyInstance, document: () => OpenAPIObject, codes: Codes): void {
  const urls = () => (document().servers ?? []).map(({ url }) => url);
  serveStatic(fastify, '/docs', () => pageOf(SWAGGER_UI, {}, urls()));
  // Relative, so that it also works behind a proxy that adds a prefix.
  fastify.get('/docs/', { config: { public: true } }, (_request, reply) => reply.redirect('../docs'));
  for (const [name, type] of ASSETS) {
    const file = join(PACKAGE_FOLDER, name);
    serveStatic(fastify, `/docs/${name}`, () => [{ 'Content-Type': type }, readFileSync(file)]);
  }
  // Swagger UI requests no document. JSON is JavaScript.
  const script = () => `var slimDocument = ${jsonText(slimDocument(document(), codes))}`;
  serveStatic(fastify, '/docs/slim-document.js', () => [{ 'Content-Type': JAVASCRIPT }, script()]);
}

type ScopedOperation = OperationObject & { readonly [REQUIRED_SCOPES]?: readonly string[] };

/**
 * Serves the public page at `/`: it shows what a key may do, and has a first program in several languages. Its script
 * sends the key to the configured base URL; if that is a path, to the address in the browser.
 */
export function serveFrontPage(
  fastify: FastifyInstance,
  { publicBaseUrl: base, mcpEnabled = true }: Config & { readonly mcpEnabled?: boolean },
  document: () => OpenAPIObject,
): void {
  serveStatic(fastify, '/', () => {
    const groups = new Map<string, Texts[]>();
    for (const [path, item] of Object.entries(document().paths)) {
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

/**
 * Serves a public list of the codes, and a page about each at the address in `type` of problem details.
 *
 * @param codes the codes of the document; they replace those that only a status has
 */
export function serveProblemPages(
  fastify: FastifyInstance,
  { docsEnabled }: Config,
  { paths }: OpenAPIObject,
  codes: Codes,
): void {
  const docs = docsEnabled ? [{}] : [];
  serveStatic(fastify, '/problems', () => pageOf(PROBLEMS, { docs, codes: codes.map(rowOf) }));
  // 499 has no reason phrase.
  const statuses = [...Object.keys(STATUS_CODES), '499'].map(Number).filter(isClientError);
  const when = 'an operation rejects the request for a reason of its own';
  const generic = statuses.map(codeOfStatus).map((each) => ({ ...each, when, example: each.message }));
  const pages = new Map<string, StaticContent>();
  for (const each of [...generic, ...codes]) {
    const placesIf = (has: boolean) =>
      operationsOf(paths)
        .filter((operation) => rejectedCodes(operation, codes).some(({ code }) => code === each.code) === has)
        .map((operation) => ({
          id: operation.operationId ?? '',
          link: docsEnabled ? linkOf(operation) : 'openapi.json',
        }));
    const make = () => {
      const texts = { ...rowOf(each), docs, ...placesOf(placesIf(true), placesIf(false)) };
      return pageOf(PROBLEM_PAGE, texts);
    };
    pages.set(each.code, new StaticContent(make));
  }
  const config = { public: true, entityTag: [] };
  fastify.get<{ Params: { code: string } }>('/problems/:code', { config }, (request, reply) => {
    const page = pages.get(request.params.code);
    if (!page) throw platformErrors.route_not_found();
    return page.send(request, reply);
  });
}

/** Returns the shorter list of operations: those that have a code, or those that lack it. */
function placesOf(having: readonly Texts[], others: readonly Texts[]): Texts {
  if (having.length === 0) return { where: 'No operation of this document names it.' };
  if (others.length === 0) return { where: 'Every operation.' };
  if (others.length < having.length) return { where: 'Every operation, except', operations: others };
  return { where: '', operations: having };
}

/** Returns the texts of a code for a page. */
function rowOf({ code, status, when, example, fix }: Codes[number]): Texts {
  const name = `${status} ${STATUS_CODES[status] ?? ''}`.trimEnd();
  const texts = {
    code,
    name,
    title: titleOf(code),
    message: JSON.stringify(example),
    status: String(status),
  };
  return {
    ...texts,
    when: when.replace(/^[a-z]/, (letter) => letter.toUpperCase()),
    fix: fix ?? fixOf(status),
    guide: guidePartOf(status),
  };
}

/** The texts of a page by name, and its lists, whose items have further texts. */
interface Texts {
  readonly [name: string]: string | readonly Texts[];
}

/**
 * Makes an HTML page. Its content security policy (CSP 3) allows the page's own inline styles and scripts
 * by hash, and files of this origin. It forbids other inline code, eval, frames and other hosts.
 *
 * @param texts replace `{{name}}` by name, escaped for HTML, and {{`name`}} with its code marks; a list repeats
 *   `{{#name}}…{{/name}}`
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
  const part = /\{\{#(\w+)\}\}(.*?)\{\{\/\1\}\}|\{\{(`?)(\w+)`?\}\}/gs;
  return template.replaceAll(part, (_, list: string, inner: string, mark: string, name: string) => {
    const value = texts[list ?? name] ?? '';
    if (typeof value !== 'string') return value.map((each) => fill(inner, { ...texts, ...each })).join('');
    const escaped = escapeHtml(value);
    return mark ? escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>') : escaped;
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
