import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Marked, type RendererObject } from 'marked';
import { type Config, siteOf } from '../../platform/config/config';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { baseUrlOf } from '../openapi/document';
import { escapeHtml, GUIDE_PAGE, pageOf } from './pages';

const FOLDER = join(__dirname, '..', '..', '..', 'docs');

/** The documents for clients, by the path of their page. */
const PAGES = {
  guide: 'guide.md',
  'guide/events': 'events.md',
  'guide/errors': 'errors.md',
  'guide/details': 'api-details.md',
  'guide/agents': 'agents.md',
} as const;

const PATHS = new Map<string, string>(Object.entries(PAGES).map(([path, file]) => [file, path])).set(
  '../openapi.json',
  'openapi.json',
);

/** The service in the examples. */
const EXAMPLE = 'http://127.0.0.1:3000';

/** A link of Markdown to another document. */
const LINK = /\[([^\]]+)\]\((?!https:|#)([^)]+)\)/g;

const MARKDOWN = { 'Content-Type': 'text/markdown; charset=utf-8' };

/** Serves the documents for clients as pages, and as one text for language models (llmstxt.org). */
export function serveGuide(fastify: FastifyInstance, config: Config): void {
  // The first request reads it, when the port is known.
  const named = (text: string) => text.replaceAll(EXAMPLE, siteOf(baseUrlOf(config, fastify)));
  const documents = Object.entries(PAGES).map(([path, file]) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    return { path, text, title: /^# (.*)/.exec(text)?.[1] ?? file };
  });
  serveStatic(fastify, '/llms-full.txt', () => [
    MARKDOWN,
    documents.map(({ text }) => named(text).replaceAll(LINK, textOfLink)).join('\n'),
  ]);
  for (const { path, text, title } of documents) {
    const root = path.includes('/') ? '../' : './';
    const links = documents.map((each) => ({ href: root + each.path, name: each.title }));
    const texts = { root, title, links, docs: config.docsEnabled ? [{}] : [] };
    serveStatic(fastify, `/${path}`, () => {
      const [headers, html] = pageOf(GUIDE_PAGE, texts);
      // A text of the document may have the special patterns of `replace`.
      return [headers, html.replace('<!-- document -->', () => render(named(text), root))];
    });
  }
}

/** Returns the address of a page. The service has no other documents of the package. */
function addressOf(href: string, root: string): string | undefined {
  const [name = '', anchor] = href.split('#');
  const page = PATHS.get(name);
  return page && `${root}${page}${anchor === undefined ? '' : `#${anchor}`}`;
}

function textOfLink(_link: string, text: string, href: string): string {
  const url = addressOf(href, '');
  return url === undefined ? text : `[${text}](${url})`;
}

/** Renders Markdown as HTML. @param root the relative address of the service */
function render(markdown: string, root: string): string {
  let examples = 0;
  const renderer: RendererObject = {
    heading({ tokens, depth, text }) {
      // The anchors of GitHub.
      const id = text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-');
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    code({ text }) {
      examples += 1;
      return `<pre tabindex="0" role="region" aria-label="Example ${examples}"><code>${escapeHtml(text)}</code></pre>\n`;
    },
    // Comments are for writers.
    html: ({ text }) => (text.startsWith('<!--') ? '' : escapeHtml(text)),
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const url = /^(https:|#)/.test(href) ? href : addressOf(href, root);
      return url === undefined ? text : `<a href="${escapeHtml(url)}">${text}</a>`;
    },
  };
  return new Marked({ renderer }).parse(markdown, { async: false });
}
