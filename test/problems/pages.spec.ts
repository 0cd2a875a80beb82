import { codesOf } from '../../src/platform/openapi/codes';
import { LabModule } from '../modules/support/lab.module';
import { kennels } from '../modules/support/kennels.extension';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { PROBLEM } from './support/problem';

const without = { key: undefined };

describe('the page of a code', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({}, { extensions: [kennels], modules: [LabModule] });
  });
  afterAll(() => app.close());

  const page = (code: string) => app.get(`/problems/${code}`, without);

  /** Returns the texts of the page by their headings. */
  const partsOf = (html: string) =>
    Object.fromEntries(
      [...html.matchAll(/<h2>(.*?)<\/h2>\s*<(p|pre)>(.*?)<\/\2>/gs)].map(([, title, , text]) => [
        title,
        text,
      ]),
    );

  it('exists for every code of the document, those of extensions included', async () => {
    const document = (await app.get('/openapi.json', without)).json;
    const codes = codesOf(document.paths, kennels.errors);
    expect(codes.map(({ code }) => code)).toEqual(expect.arrayContaining(['kennel_closed', 'under_embargo']));
    for (const { code, status } of codes) {
      const { status: got, headers, text } = await page(code);
      expect([code, got, headers['content-type']]).toEqual([code, 200, 'text/html; charset=utf-8']);
      expect(text).toMatch(
        new RegExp(`<h1>[A-Z][A-Za-z ]+</h1>\\s*<p>.*<code>${code}</code>.*status ${status} `),
      );
    }
  });

  it('says when the error happens, what to do, which operations return it, its headers, and an example', async () => {
    const parts = partsOf((await page('api_key_banned')).text);
    expect(parts).toEqual({
      'When it happens': 'The key is temporarily banned for ignoring Retry-After.',
      'What to do': expect.stringContaining('Wait for the seconds in Retry-After'),
      Operations: 'Every operation, except getKey (Get the key of the request).',
      Headers: 'Each of these responses has Retry-After.',
      Example: expect.stringContaining('&quot;code&quot;: &quot;api_key_banned&quot;'),
    });
    const { Operations } = partsOf((await page('invalid_transition')).text);
    expect(Operations).toMatch(/^updateOrder \([^()]+\)\.$/);
  });

  it('is the address in type of problem details, for codes by status, too', async () => {
    for (const path of ['/v1/nothing', '/v1/lab/pipe', '/v1/lab/exceptions/an%20unassigned%20status']) {
      const { json } = await app.get(path, { headers: { accept: PROBLEM } });
      const { status, text } = await app.get(json.type, without);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toContain(`<h1>${json.title}</h1>`);
    }
  });

  it('has a language, a title, a viewport, one h1, a main landmark, and a policy without scripts', async () => {
    const { text, headers } = await page('validation_failed');
    expect(text).toContain('<html lang="en">');
    expect(text).toContain('name="viewport"');
    expect(text).toContain('<title>Validation failed: validation_failed of the Animal Store API</title>');
    for (const tag of ['<h1>', '<main>']) expect(text.split(tag)).toHaveLength(2);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self' 'sha256-/,
    );
    expect(text).not.toMatch(/<script|\son\w+=|style="/);
  });

  it('is 404 route_not_found for an unknown code, and 405 for another method', async () => {
    for (const path of [
      '/problems/nothing',
      '/problems/',
      '/problems',
      '/problems/ok',
      '/problems/__proto__',
    ])
      expectError(await app.get(path, without), 404, 'route_not_found');
    const response = await app.post('/problems/route_not_found', {}, without);
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers['allow']).toBe('GET, HEAD');
  });
});
