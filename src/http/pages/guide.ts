import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Marked } from 'marked';
import { type Config, siteOf } from '../../config/config';
import { fill, pageHeaders, read, serveStatic } from './pages';

const FOLDER = join(__dirname, '..', '..', '..', 'docs');

/** The documents for clients, and the paths of their pages. */
const PAGES: Readonly<Record<string, string>> = {
  'guide.md': 'guide',
  'events.md': 'guide/events',
  'errors.md': 'guide/errors',
  'api-details.md': 'guide/details',
  'agents.md': 'guide/agents',
};

const LAYOUT = read('guide.html');
const LINKS = read('llms.txt');

/** A link of Markdown to another file of the package. */
const LINK = /\[([^\]]+)\]\((?!https:|#)([^)#]+)([^)]*)\)/g;

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      // The anchors of GitHub.
      const id = text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-');
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
  },
});

/** Serves the documents for clients as pages, and links to them for language models (llmstxt.org). */
export function serveGuide(fastify: FastifyInstance, config: Config): void {
  const hasMcp = fastify.hasRoute({ method: 'POST', url: '/mcp' });
  serveStatic(fastify, '/llms.txt', () => [
    { 'Content-Type': 'text/markdown; charset=utf-8' },
    linksForAgents(config, hasMcp),
  ]);
  const documents = Object.entries(PAGES).map(([file, path]) => {
    const text = readFileSync(join(FOLDER, file), 'utf8').replaceAll(/<!--.*?-->\n*/gs, '');
    return { path, text, title: /^# (.*)/.exec(text)?.[1] ?? file };
  });
  const pages = documents.map(({ path, title }) => [path, title]);
  if (config.docsEnabled) pages.unshift(['', 'Animal Store'], ['docs', 'API reference']);
  for (const { path, text, title } of documents) {
    const root = path.includes('/') ? '../' : './';
    const links = pages.map(([to, name]) => `<a href="${root}${to}">${name}</a>`).join('\n');
    const render = () => marked.parse(linkPages(text, root), { async: false });
    serveStatic(fastify, `/${path}`, () => [
      pageHeaders(),
      fill(LAYOUT, { title, root, links, content: render() }),
    ]);
  }
}

function linksForAgents({ publicBaseUrl: base, docsEnabled }: Config, hasMcp: boolean): string {
  const root = siteOf(base);
  const docs = `- [Swagger UI](${root}/docs): the same for people, with a form for each operation\n`;
  const mcp = `- [Model Context Protocol](${root}/mcp): Streamable HTTP; one tool for each operation that the key may use\n`;
  return fill(LINKS, { root, base, more: (docsEnabled ? docs : '') + (hasMcp ? mcp : '') });
}

/** Replaces links to documents by links to their pages, and links to files that the service does not have by their text. */
function linkPages(markdown: string, root: string): string {
  return markdown.replaceAll(LINK, (_link, text: string, file: string, anchor: string) => {
    const path = file === '../openapi.json' ? 'openapi.json' : PAGES[file];
    return path === undefined ? text : `[${text}](${root}${path}${anchor})`;
  });
}
