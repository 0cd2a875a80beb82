import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const ABSOLUTE = 'https://api.example.com/store/v1';

describe('the guide at the service', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ port: 0 });
  });
  afterAll(() => app.close());

  const read = async (path: string) => (await app.get(path, { key: '' })).text;
  const linksIn = (page: string) => [...page.matchAll(/ href="(?!data:)([^"]*)"/g)].map(([, link]) => link!);

  it('has pages, without a key, whose links, like those of the front page, lead to pages and places that exist', async () => {
    const seen = new Map<string, string>();
    const missing: string[] = [];
    const open = async (url: URL) => {
      const page = seen.get(url.pathname) ?? (await read(url.pathname));
      seen.set(url.pathname, page);
      return page;
    };
    const guide = ['', 'guide', 'guide/events', 'guide/errors', 'guide/details', 'guide/agents'];
    for (const start of guide) {
      const base = new URL(start, 'http://animal-store.test/');
      for (const link of linksIn(await open(base))) {
        const url = new URL(link, base);
        if (url.host !== base.host) continue;
        const page = await open(url);
        const [, anchor = ''] = /^#([^/].*)/.exec(decodeURIComponent(url.hash)) ?? [];
        if (/"status":404/.test(page) || (anchor && !page.includes(`id="${anchor}"`))) missing.push(url.href);
      }
    }
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining(['/guide/events', '/docs', '/', '/readyz', '/openapi.yaml']),
    );
    expect(missing).toEqual([]);
  });

  it('has headings, tables, code and programs with the port of the service; no Markdown and no document of the package is left', async () => {
    const page = await read('/guide');
    expect(page).toMatch(/<title>Guide for clients · Animal Store<\/title>/);
    expect(page).toMatch(/<h1 id="guide-for-clients">Guide for clients<\/h1>/);
    expect(page).toMatch(/<pre tabindex="0"[^>]*><code>\$ /);
    expect(page).toMatch(/<table>/);
    expect(page.replaceAll(/<pre.*?<\/pre>/gs, '')).not.toMatch(/\]\(|^#|\*\*|href="[^"]*\.md/m);
    expect(page).not.toContain('<!--');
    expect(page).toContain(`API=${app.url}/v1<`);
  });

  it('is found from every page, the document, and as one text from llms.txt', async () => {
    for (const path of ['/', '/docs']) expect(linksIn(await read(path))).toContain('./guide');
    expect(JSON.parse(await read('/openapi.json')).externalDocs.url).toBe('/guide');
    const full = await read('/llms-full.txt');
    for (const heading of ['# Guide for clients', '# Events and webhooks', '# Error codes', '# Agents'])
      expect(full.split('\n')).toContain(heading);
    const links = [...full.matchAll(/\]\((?!https:)([^)#]+)/g)].map(([, link]) => `/${link}`);
    expect(links).toContain('/guide/errors');
    for (const link of links) expect(await app.get(link, { key: '' })).toMatchObject({ status: 200 });
  });

  it('stays if DOCS_ENABLED=false, as the document does, without links to what is off, which is 404; its address is that of PUBLIC_BASE_URL', async () => {
    const other = await startApp({ docsEnabled: false, publicBaseUrl: ABSOLUTE }, { beside: app });
    for (const path of ['/', '/docs', '/docs/', '/docs/swagger-ui.css', '/docs/slim-document.js'])
      expectError(await other.get(path, { key: '' }), 404, 'route_not_found');
    for (const path of ['/openapi.yaml', '/guide/errors']) {
      const { status, text } = await other.get(path, { key: '' });
      expect([path, status, /href="[^"]*\/docs"/.test(text)]).toEqual([path, 200, false]);
    }
    const page = await other.get('/guide', { key: '' });
    expect([page.status, linksIn(page.text).filter((link) => /docs|^\.\/$/.test(link))]).toEqual([200, []]);
    const { externalDocs } = (await other.get('/openapi.json')).json;
    expect(externalDocs.url).toBe('https://api.example.com/store/guide');
    expect(page.text).toContain(`API=${ABSOLUTE}<`);
    expect((await other.get('/guide/agents', { key: '' })).text).toContain(
      'https://api.example.com/store/mcp',
    );
    await other.close();
  });
});
