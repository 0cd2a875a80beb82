import { ApiDocument } from '../../src/testing/api-document';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { type HttpResponse, send } from '../support/http';

const without = { key: undefined };

/** Parses the directives of a content security policy. */
function policyOf({ headers }: HttpResponse): Record<string, string[]> {
  const directives = String(headers['content-security-policy']).split('; ');
  return Object.fromEntries(directives.map((each) => [each.split(' ', 1).join(), each.split(' ').slice(1)]));
}

/** Under the default settings, and in production with every address. test/support/app closes them. */
let app: TestApp;
let production: TestApp;
beforeAll(async () => {
  app = await startApp();
  const settings = {
    deployment: 'production',
    publicBaseUrl: 'https://api.example.com/v1',
    stagingBaseUrl: 'https://staging.example.com/v1',
  } as const;
  production = await startApp(settings, { beside: app });
});

describe('the OpenAPI document', () => {
  let document: any;
  beforeAll(async () => {
    document = (await production.get('/openapi.json', without)).json;
  });

  it('/openapi.json is OpenAPI 3.0 with version 1.0.0, and has production and staging as servers', async () => {
    const { status, headers } = await production.get('/openapi.json', without);
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: expect.stringMatching(/^application\/json/),
    });
    expect(document.openapi).toMatch(/^3\.0\./);
    expect(document.info).toMatchObject({ title: 'Animal Store', version: '1.0.0' });
    expect(document.servers).toEqual([
      { url: 'https://api.example.com/v1', description: 'Production', 'x-internal': false },
      { url: 'https://staging.example.com/v1', description: 'Staging', 'x-internal': false },
    ]);
  });

  it('has a valid example at each parameter that a request must have', () => {
    const api = new ApiDocument(JSON.stringify(document));
    const all = Object.values<any>(api.object.paths).flatMap((item) => Object.values<any>(item));
    const required = all.flatMap(({ parameters = [] }) => parameters).filter((each) => each.required);
    expect(new Set(required.map(({ name }) => name)).size).toBe(6);
    for (const { name, schema, example } of required)
      expect([name, example ?? 'none', api.errors(schema, JSON.stringify(example))]).toEqual([
        name,
        example,
        [],
      ]);
  });
});

describe('the front page', () => {
  it('has programs with the configured base URL, for any Host header', async () => {
    const { text } = await send(app.url, 'GET', '/', { headers: { host: 'evil.example' } });
    const programs = text.match(/<pre.*?<\/pre>/gs) ?? [];
    expect(programs).toHaveLength(3);
    for (const program of programs) expect(program).toContain('<span class="base">/v1</span>');
    expect(text).not.toContain('evil.example');
    const page = await production.get('/', without);
    expect(page.text).toContain('<span class="base">https://api.example.com/v1</span>');
    // Its script sends the key there, and nowhere else.
    expect(policyOf(page)['connect-src']).toEqual(["'self'", 'https://api.example.com']);
  });

  it('its policy allows files of this origin; no inline code, no eval, no frame', async () => {
    const page = await app.get('/', without);
    expect(policyOf(page)).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    });
    expect(page.text).not.toMatch(/(?:src|href)="(?!\.\/|data:)/);
  });
});

describe('Swagger UI', () => {
  it('its policy allows files of this origin, and requests to its servers only', async () => {
    expect(policyOf(await production.get('/docs?x=1', without))).toMatchObject({
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'connect-src': ["'self'", 'https://api.example.com', 'https://staging.example.com'],
    });
  });

  it('serves no other file of its package: 404 route_not_found', async () => {
    for (const file of ['package.json', 'README.md', 'oauth2-redirect.html', 'swagger-ui-bundle.js.map'])
      expectError(await app.get(`/docs/${file}`, without), 404, 'route_not_found');
  });

  it('sends its files in full for any Range header (RFC 9110, 14.2)', async () => {
    const headers = { range: 'bytes=99999999-' };
    const whole = await app.get('/docs/swagger-ui.css', without);
    const { status, text } = await app.get('/docs/swagger-ui.css', { ...without, headers });
    expect({ status, length: text.length }).toEqual({ status: 200, length: whole.text.length });
  });
});
