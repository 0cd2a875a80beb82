import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app';
import { type Answer, send } from '../support/http';

const without = { key: undefined };

/** The directives of an answer's content security policy. */
function policyOf({ headers }: Answer): Record<string, string[]> {
  const directives = String(headers['content-security-policy']).split('; ');
  return Object.fromEntries(directives.map((each) => [each.split(' ', 1).join(), each.split(' ').slice(1)]));
}

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

describe('the front page', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('leads to the documentation, the document and the health, each of which answers', async () => {
    const { status, headers, text } = await app.get('/', without);
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(text).toContain('<h1>Animal Store API <small>1.0.0</small></h1>');
    const links = [...text.matchAll(/href="\.(\/[^"]*)"/g)].map(([, path]) => path!);
    expect(links).toEqual(
      expect.arrayContaining(['/docs', '/openapi.json', '/openapi.yaml', '/livez', '/readyz']),
    );
    for (const path of links) {
      expect({ path, status: (await app.get(path, without)).status }).toEqual({ path, status: 200 });
    }
  });

  it('has three curl lines with the configured base address, whatever the Host header says', async () => {
    const { text } = await send(app.url, 'GET', '/', { headers: { host: 'evil.example' } });
    const lines = text.match(/<code>curl .*?<\/code>/g) ?? [];
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toContain('<span class="base">/v1</span>/pets');
    expect(text).not.toContain('evil.example');
    const absolute = await startApp({ publicBaseUrl: 'https://api.example.com/v1' });
    expect((await absolute.get('/', without)).text).toContain(
      '<span class="base">https://api.example.com/v1</span>',
    );
    await absolute.close();
  });

  it('its policy allows its own style and script by hash, and nothing else inline, no eval, no frame', async () => {
    const page = await app.get('/', without);
    const [, style] = /<style>(.*?)<\/style>/s.exec(page.text)!;
    const [, script] = /<script>(.*?)<\/script>/s.exec(page.text)!;
    expect(policyOf(page)).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'", hashOf(script!)],
      'style-src': ["'self'", hashOf(style!)],
      'img-src': ["'self'", 'data:'],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    });
    expect(page.text).not.toMatch(/\son\w+=|style="|(?:src|href)="(?!\.\/)/);
  });
});

describe('Swagger UI', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ stagingBaseUrl: 'https://staging.example.com/v1' });
  });
  afterAll(() => app.close());

  it.each(['/docs', '/docs/', '/docs/index.html'])(
    '%s has a policy without unsafe-inline and unsafe-eval; requests may go to the servers of the document',
    async (path) => {
      const policy = policyOf(await app.get(path, without));
      expect(policy['default-src']).toEqual(["'none'"]);
      expect(policy['script-src']).toEqual(["'self'"]);
      expect(policy['connect-src']).toEqual(["'self'", 'https://staging.example.com']);
      expect(JSON.stringify(policy)).not.toMatch(/unsafe-(inline|eval)|\*/);
    },
  );

  it('its policy covers every style of the page, and the one that the logo brings', async () => {
    const page = await app.get('/docs', without);
    const inline = [...page.text.matchAll(/<style>(.*?)<\/style>|\sstyle="([^"]*)"/gs)];
    const hashes = inline.map(([, style, attribute]) => hashOf(style ?? attribute!));
    expect(hashes.length).toBeGreaterThan(1);
    const logo = '.logo_small_svg__cls-2{fill:#fff}.logo_small_svg__cls-3{fill:#85ea2d}';
    expect(policyOf(page)['style-src']).toEqual(expect.arrayContaining([...hashes, hashOf(logo)]));
    const preset = join(__dirname, '../../node_modules/swagger-ui-dist/swagger-ui-standalone-preset.js');
    expect(readFileSync(preset, 'utf8')).toContain(logo);
    expect(page.text).toContain('name="viewport"');
    const head = await app.send('HEAD', '/docs', without);
    expect(policyOf(head)).toEqual(policyOf(page));
    expect(head).toMatchObject({ text: '', headers: { 'content-length': page.headers['content-length'] } });
  });

  it('loads nothing from another host, and is asked to check nothing there', async () => {
    const { text } = await app.get('/docs', without);
    expect(text).not.toMatch(/(?:src|href)="?(?:https?:)?\/\//);
    const script = await app.get('/docs/swagger-ui-init.js', without);
    expect(script.text).toContain('"validatorUrl": "none"');
  });

  it('keeps authorization, shows durations, links deep, and sorts nothing', async () => {
    const { text } = await app.get('/docs/swagger-ui-init.js', without);
    for (const option of ['persistAuthorization', 'displayRequestDuration', 'deepLinking']) {
      expect(text).toContain(`"${option}": true`);
    }
    expect(text).not.toMatch(/operationsSorter|tagsSorter/);
  });
});
