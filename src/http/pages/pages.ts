import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Config, siteOf } from '../../config/config';
import { entityTagOf } from '../../api/entity-tags/entity-tag';
import { JSON_TYPE } from '../../api/errors/api-error';
import type { OpenApiDocument } from '../../api/openapi/document';

/** Swagger UI needs two files of its package. */
const SWAGGER_UI = dirname(require.resolve('swagger-ui-dist/package.json'));
const CSS = { 'Content-Type': 'text/css; charset=utf-8' };
const JAVASCRIPT = { 'Content-Type': 'text/javascript; charset=utf-8' };
// RFC 9512.
const YAML = { 'Content-Type': 'application/yaml; charset=utf-8' };

/** The documents for clients, and the paths of their pages. */
const PAGES: Readonly<Record<string, string>> = {
  'guide.md': 'guide',
  'events.md': 'guide/events',
  'errors.md': 'guide/errors',
  'api-details.md': 'guide/details',
  'agents.md': 'guide/agents',
};

/** A link of Markdown to another file of the package. */
const LINK = /\[([^\]]+)\]\((?!https:|#)([^)#]+)([^)]*)\)/g;

/** Loads a parser that few services need. */
function markdownParser() {
  const { Marked }: typeof import('marked') = require('marked');
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        // The anchors of GitHub.
        const kept = text.toLowerCase().match(/[\p{L}\p{N}_ -]/gu) ?? [];
        const id = kept.join('').replaceAll(' ', '-');
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
}

/** Serves the OpenAPI document, the guide, the front page at `/` and Swagger UI at `/docs`, without a key and from memory. */
export function servePages(fastify: FastifyInstance, config: Config, document: () => OpenApiDocument): void {
  const { docsEnabled, publicBaseUrl, stagingBaseUrl = publicBaseUrl } = config;
  const serveFile = (path: string, headers: Headers, file: string): void => {
    const text = read(file);
    serveStatic(fastify, path, headers, () => text);
  };
  serveStatic(fastify, '/openapi.json', { 'Content-Type': JSON_TYPE }, () => document().toJson());
  serveStatic(fastify, '/openapi.yaml', YAML, () => document().toYaml());
  serveFile('/favicon.ico', { 'Content-Type': 'image/svg+xml' }, 'icon.svg');
  serveFile('/guide/pages.css', CSS, 'pages.css');
  serveGuide(fastify, config);
  if (!docsEnabled) return;
  // The page sends the key to the base URL; if that is a path, to the address in the browser. No other character of a
  // base URL has a meaning in HTML.
  const html = fill(read('front-page.html'), { base: publicBaseUrl.replaceAll('&', '&amp;') });
  serveStatic(fastify, '/', pageHeaders([publicBaseUrl]), () => html);
  // A proxy may have no `/docs`.
  serveFile('/guide/front-page.js', JAVASCRIPT, 'front-page.js');
  serveFile('/docs', pageHeaders([...new Set([publicBaseUrl, stagingBaseUrl])]), 'docs.html');
  serveFile('/docs/docs.css', CSS, 'docs.css');
  serveFile('/docs/docs.js', JAVASCRIPT, 'docs.js');
  for (const [file, type] of Object.entries({ 'swagger-ui.css': CSS, 'swagger-ui-bundle.js': JAVASCRIPT }))
    serveStatic(fastify, `/docs/${file}`, type, () => readFileSync(join(SWAGGER_UI, file)));
}

/** Reads a file at the start: a later version may replace it. */
function read(file: string): string {
  return readFileSync(join(__dirname, file), 'utf8');
}

/** Serves the documents for clients as pages, and links to them for language models (llmstxt.org). */
function serveGuide(fastify: FastifyInstance, config: Config): void {
  const links = linksForAgents(config, fastify.hasRoute({ method: 'POST', url: '/mcp' }));
  serveStatic(fastify, '/llms.txt', { 'Content-Type': 'text/markdown; charset=utf-8' }, () => links);
  const layout = read('guide.html');
  const documents = Object.entries(PAGES).map(([file, path]) => {
    const text = read(`../../../docs/${file}`).replaceAll(/<!--.*?-->\n*/gs, '');
    return { path, text, title: /^# (.*)/.exec(text)?.[1] ?? file };
  });
  const pages = documents.map(({ path, title }) => [path, title]);
  if (config.docsEnabled) pages.unshift(['', 'Animal Store'], ['docs', 'API reference']);
  for (const { path, text, title } of documents) {
    const root = path.includes('/') ? '../' : './';
    const navigation = pages.map(([to, name]) => `<a href="${root}${to}">${name}</a>`).join('\n');
    serveStatic(fastify, `/${path}`, pageHeaders(), () => {
      const content = markdownParser().parse(linkPages(text, root), { async: false });
      return fill(layout, { title, root, links: navigation, content });
    });
  }
}

function linksForAgents({ publicBaseUrl: base, docsEnabled }: Config, hasMcp: boolean): string {
  const root = siteOf(base);
  const docs = `- [Swagger UI](${root}/docs): the same for people, with a form for each operation\n`;
  const mcp = `- [Model Context Protocol](${root}/mcp): Streamable HTTP; one tool for each operation that the key may use\n`;
  return fill(read('llms.txt'), { root, base, more: (docsEnabled ? docs : '') + (hasMcp ? mcp : '') });
}

/** Replaces links to documents by links to their pages, and links to files that the service does not have by their text. */
function linkPages(markdown: string, root: string): string {
  return markdown.replaceAll(LINK, (_link, text: string, file: string, anchor: string) => {
    const path = file === '../openapi.json' ? 'openapi.json' : PAGES[file];
    return path === undefined ? text : `[${text}](${root}${path}${anchor})`;
  });
}

/** Fills the places of a file, such as `{{title}}`. */
function fill(file: string, parts: Readonly<Record<string, string>>): string {
  return file.replaceAll(/{{(\w+)}}/g, (_, name: string) => parts[name] ?? '');
}

type Headers = Readonly<Record<'Content-Type', string> & Record<string, string>>;

/**
 * Serves the same content to every client, without a key. The first request makes it and hashes the bytes. All responses
 * share them: any client may request the largest document, and a string would be encoded for each response.
 */
function serveStatic(fastify: FastifyInstance, path: string, headers: Headers, make: () => string | Buffer) {
  let response: { readonly bytes: Buffer; readonly tag: string } | undefined;
  fastify.get(path, { config: { public: true, entityTag: [] } }, (_request, reply) => {
    if (!response) {
      const bytes = Buffer.from(make());
      response = { bytes, tag: entityTagOf(bytes) };
    }
    reply.headers(headers).header('ETag', response.tag).send(response.bytes);
  });
}

/**
 * Returns the headers of an HTML page. Its content security policy (CSP 3) allows files of this origin. It forbids inline
 * code, eval, frames and other hosts.
 *
 * @param connectTo base URLs to which the page's scripts may send requests; a path is one of this origin
 */
function pageHeaders(connectTo: readonly string[] = []) {
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
