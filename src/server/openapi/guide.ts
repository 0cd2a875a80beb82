import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Marked, type RendererObject } from 'marked';
import type { Config } from '../../platform/config/config';
import { serveStatic } from '../../platform/entity-tags/static-content';
import { escapeHtml, pageOf } from './pages';

const FOLDER = join(__dirname, '..', '..', '..', 'docs');

/** The documents for clients, by the path of their page. */
const PAGES = {
  guide: 'guide.md',
  'guide/events': 'events.md',
  'guide/errors': 'errors.md',
  'guide/details': 'api-details.md',
  'guide/agents': 'agents.md',
} as const;

const MARKDOWN = { 'Content-Type': 'text/markdown; charset=utf-8' };

/** Serves the documents for clients as pages, and as one text for language models (llmstxt.org). */
export function serveGuide(fastify: FastifyInstance, { docsEnabled }: Config): void {
  const files = Object.values(PAGES);
  serveStatic(fastify, '/llms-full.txt', MARKDOWN, () => files.map(textOf).join('\n'));
  for (const [path, file] of Object.entries(PAGES)) {
    const root = path.includes('/') ? '../' : './';
    const links = Object.entries(PAGES).map(([href, each]) => ({
      href: `${root}${href}`,
      name: titleOf(each),
    }));
    const texts = { root, title: titleOf(file) };
    const [headers, make] = pageOf('guide-page.html', texts, { links, docs: docsEnabled ? [texts] : [] });
    // A text of the document may have the special patterns of `replace`.
    serveStatic(fastify, `/${path}`, headers, () =>
      make().replace('<!-- document -->', () => render(file, root)),
    );
  }
}

function textOf(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8');
}

/** Returns the text of the first line, which is the heading. */
function titleOf(file: string): string {
  return /^# (.*)/.exec(textOf(file))?.[1] ?? file;
}

/** @param root the relative address of the service */
function render(file: string, root: string): string {
  const pages = new Map(Object.entries(PAGES).map(([path, each]) => [each as string, path]));
  let examples = 0;
  const renderer: RendererObject = {
    heading({ tokens, depth, text }) {
      // The anchors of GitHub.
      const id = text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} -]/gu, '')
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
      const [name = '', anchor] = href.split('#');
      const page = pages.get(name) ?? (name === '../openapi.json' ? 'openapi.json' : undefined);
      const url = page === undefined ? href : `${root}${page}${anchor === undefined ? '' : `#${anchor}`}`;
      // The other documents are those of the package.
      return page === undefined && !/^(https:|#)/.test(href)
        ? text
        : `<a href="${escapeHtml(url)}">${text}</a>`;
    },
  };
  return new Marked({ renderer }).parse(textOf(file), { async: false });
}
