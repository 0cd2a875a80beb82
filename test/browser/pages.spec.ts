import type { Browser, Page, Request } from 'playwright-core';
import { connectAgent } from '../mcp/support';
import { startApp, type TestApp } from '../support/app';
import { until } from '../support/until';
import { findings } from './support/accessibility';
import { inChromium } from './support/chromium';
import { SwaggerUi } from './support/swagger-ui';
import { copied, runPython, runShell, runTypeScript } from './support/programs';
import { openBrowser, overflowOf, show, showUsage, visit, type Visit, WINDOWS } from './support/visit';

const SMALL = { plan: 'enterprise', perMinute: 2, perDay: 1_000 } as const;

/** The promises that need a browser. test/openapi checks the same pages over HTTP. */
inChromium('the pages', (chromium) => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  let reader: string;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 2, rateLimitBanSeconds: 300 });
    browser = await openBrowser(chromium);
  });
  beforeEach(async () => {
    const label = 'a long label '.repeat(7).trim();
    reader = (await app.createKey({ label, choice: SMALL, scopes: ['pets:read'] })).key;
    visited = await visit(browser, app.url, 'wide');
    page = visited.page;
    await page.goto(visited.origin);
  });
  afterEach(() => expect(visited.problems).toEqual([]));
  afterEach(() => page.context().close());
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it('the front page shows what a key may do and how much is left, with the keyboard only', async () => {
    await app.get('/v1/pets', { key: reader });
    const focused: unknown[] = [];
    for (let tabs = 0; tabs < 5; tabs += 1) {
      await page.keyboard.press('Tab');
      focused.push(await page.evaluate('document.activeElement.id || document.activeElement.innerText'));
    }
    expect(focused).toEqual(['Animal Store', 'Guide', 'Error codes', 'API reference', 'key']);
    expect(await show(page, ` ${reader} `)).toMatch(
      /^The key is valid\. It belongs to the account account \d+, plan enterprise\.$/,
    );
    expect(await page.locator('#minute-text').innerText()).toMatch(
      /^1 of 2 requests are left this minute, until /,
    );
    expect(await page.locator('#day-text').innerText()).toMatch(
      /^999 of 1,000 requests are left today \(UTC\), /,
    );
    expect(await page.evaluate('minute.value / minute.max')).toBe(0.5);
    const rows = await page.locator('[data-scopes]').allInnerTexts();
    const texts = rows.map((row) => row.split(/\s*\n\s*/).join(' | '));
    const allowed = texts.filter((text) => text.endsWith('✓ allowed'));
    expect(await page.locator('#allowed').innerText()).toBe(
      `Your key may use ${allowed.length} of ${texts.length} operations.`,
    );
    expect(texts).toEqual(
      expect.arrayContaining([
        'GET | Show the current API key | /key | ✓ allowed',
        'GET | Get an animal (deprecated) | /pets/{petId} | ✓ allowed',
        'GET | Get an order | /store/orders/{orderId} | needs orders:read or orders:manage',
        'PATCH | Cancel an order; staff also approve and deliver | /store/orders/{orderId} | needs orders:write or orders:manage',
      ]),
    );
    expect(await page.locator('#facts').innerText()).toMatch(
      /Label\s+a long label\s[^]*Scopes\s+pets:read\s/,
    );
  });

  it('the front page keeps the key only in its memory: not in the URL, in storage, or in the field after a reload or a way back', async () => {
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') sent.push(request.url());
    });
    await showUsage(page, reader);
    expect(page.url()).toBe(`${visited.origin}/`);
    expect(sent).toEqual([
      `${visited.origin}/v1/key`,
      expect.stringMatching(/\/v1\/usage\?from=[\d-]+&to=[\d-]+$/),
    ]);
    const stored = await page.context().storageState({ indexedDB: true });
    expect(stored).toEqual({ cookies: [], origins: [] });
    expect(await page.evaluate('JSON.stringify([sessionStorage, history.state, window.name])')).not.toContain(
      'ask_',
    );
    expect(await page.locator('#key').getAttribute('autocomplete')).toBe('off');
    expect(await page.locator('#key').getAttribute('name')).toBeNull();
    // A browser that keeps the page for the way back sends this event; the browser of this spec keeps none.
    await page.evaluate("dispatchEvent(new Event('pagehide'))");
    expect(await page.locator('#key').inputValue()).toBe('');
    expect(await page.content()).not.toContain(reader);
    await showUsage(page, reader);
    await page.reload();
    expect(await page.locator('#key').inputValue()).toBe('');
    await showUsage(page, reader);
    await page.goto(`${visited.origin}/guide/errors`);
    await page.goBack();
    expect(await page.locator('#key').inputValue()).toBe('');
  });

  it('the front page hands a valid key over to /docs, in this tab only', async () => {
    const ui = new SwaggerUi(page);
    const reference = page.getByRole('link', { name: 'API reference' }).first();
    await show(page, 'wrong');
    visited.problems.splice(0);
    await reference.click();
    await page.locator('.opblock').first().waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.goto(visited.origin);
    await show(page, reader);
    await reference.click();
    expect((await ui.tryOut('key', 'getKey', {})).body).toContain('"pets:read"');
    expect(await page.evaluate('localStorage.length')).toBe(0);
    const other = await page.context().newPage();
    await other.goto(`${visited.origin}/docs`);
    expect(await other.evaluate('sessionStorage.length')).toBe(0);
  });

  it('the front page masks the key, in the field and in the programs, until its button shows it', async () => {
    await show(page, reader);
    const secret = page.locator('.curl .secret');
    const color = () => page.evaluate("getComputedStyle(document.querySelector('.curl .secret')).color");
    const transparent = 'rgba(0, 0, 0, 0)';
    expect([await page.locator('#key').getAttribute('type'), await color()]).toEqual([
      'password',
      transparent,
    ]);
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await page.locator('#key').getAttribute('type')).toBe('text');
    expect(await color()).not.toBe(transparent);
    expect(await secret.innerText()).toBe(reader);
    await page.getByRole('button', { name: 'Hide' }).click();
    expect(await page.locator('#key').getAttribute('type')).toBe('password');
  });

  it('the programs of the front page run as they are copied: the list, an order, its cancellation', async () => {
    const { key } = await app.createKey({
      scopes: ['pets:read', 'pets:write', 'orders:read', 'orders:write'],
    });
    // Other programs cannot resolve the name of the other specs.
    await page.goto(app.url);
    await show(page, key);
    const runs = { curl: runShell, TypeScript: runTypeScript, Python: runPython };
    for (const [language, run] of Object.entries(runs)) {
      const printed = await run(await copied(page, language));
      expect([language, printed]).toEqual([language, expect.stringMatching(/Rex[^]*placed[^]*cancelled/)]);
    }
    const orders = (await app.get('/v1/store/orders', { key })).json;
    expect(orders.map(({ status }: any) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    const { url, headers } = JSON.parse(await copied(page, 'Agent')).mcpServers['animal-store'];
    expect([url, headers]).toEqual([`${app.url}/mcp`, { Authorization: `Bearer ${key}` }]);
    const agent = await connectAgent(app, headers.Authorization.replace('Bearer ', ''));
    expect((await agent.listTools()).tools.length).toBeGreaterThan(6);
    await agent.close();
    visited.problems.splice(0);
  });

  it('the front page, its favicon, the check of a key and its usage transfer at most 30 kB', async () => {
    let bytes = 0;
    const count = async (request: Request) => {
      const { responseBodySize, responseHeadersSize } = await request.sizes();
      bytes += responseBodySize + responseHeadersSize;
    };
    const counted: Promise<void>[] = [];
    page.on('requestfinished', (request) => counted.push(count(request)));
    await page.goto(`${visited.origin}/?uncached`);
    await showUsage(page, app.key);
    // The events come after the page has shown the responses.
    await until(() => counted.length > 2);
    await Promise.all(counted);
    expect(counted.length).toBe(3);
    expect(bytes).toBeLessThanOrEqual(30_000);
  });

  it('the front page is accessible by all rules of axe-core and does not scroll horizontally, with a key and with a problem', async () => {
    const looks = [
      ['wide', 'light', reader],
      ['telephone', 'dark', reader],
      ['telephone', 'dark', 'wrong'],
      ['telephone', 'light', 'wrong'],
    ] as const;
    for (const [window, colorScheme, key] of looks) {
      await page.setViewportSize(WINDOWS[window]);
      await page.emulateMedia({ colorScheme });
      await show(page, key);
      const found = [await findings(page), await overflowOf(page)];
      expect([window, colorScheme, ...found]).toEqual([window, colorScheme, [], 0]);
      await visited.screenshot(`front-page-${colorScheme}`, true);
    }
    visited.problems.splice(0);
  });

  it('the front page explains each problem in one sentence, gives the field the focus, and shows nothing else', async () => {
    await show(page, reader);
    const rows = [
      ['', 'Paste an API key, without spaces.'],
      ['ask_test_žofie', 'Paste an API key, without spaces.'],
      ['two words', 'Paste an API key, without spaces.'],
      ['wrong', 'The API key is not valid.'],
    ] as const;
    for (const [key, sentence] of rows) {
      expect(await show(page, key)).toBe(sentence);
      expect(await page.locator('#result').isVisible()).toBe(false);
      expect(await page.evaluate('document.activeElement.id')).toBe('key');
      expect(await page.locator('#key').getAttribute('aria-invalid')).toBe('true');
    }
    await page.route('**/v1/key', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    expect(await show(page, reader)).toBe('The service responded with status 502.');
    await page.route('**/v1/key', (route) => route.fulfill({ status: 200, json: {} }));
    expect(await show(page, reader)).toBe('The response has an unexpected form.');
    await page.route('**/v1/key', (route) => route.abort());
    expect(await show(page, reader)).toBe(`The service cannot be reached at ${visited.origin}/v1/key.`);
    await page.unroute('**/v1/key');
    expect(await show(page, reader)).toMatch(/^The key is valid/);
    expect(await page.locator('#key').getAttribute('aria-invalid')).toBe('false');
    visited.problems.splice(0);
  });

  it('the front page shows that a limit is used up, and a ban', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    for (let sent = 0; sent < 3; sent += 1) await app.get('/v1/pets', { key });
    await show(page, key);
    expect(await page.locator('#minute-text').innerText()).toMatch(/^0 of 2 requests are left this minute/);
    expect(await page.locator('#ban').isVisible()).toBe(false);
    app.clock.advance({ seconds: 2 });
    await app.get('/v1/pets', { key });
    await show(page, key);
    await page.locator('#ban').waitFor();
    expect(await page.locator('#ban').innerText()).toMatch(
      /^The key is banned until .*, because it did not wait/,
    );
  });

  it.each(['', 'http://animal-store.test'])(
    'works if the base URL is the origin %j',
    async (publicBaseUrl) => {
      const bare = await startApp({ publicBaseUrl }, { beside: app });
      const origin = visited.origin.replace(/\d+$/, new URL(bare.url).port);
      const base = publicBaseUrl || origin;
      // The proxy of such a deployment adds /v1.
      await page.route(`${base}/key`, async (route) => {
        const response = await route.fetch({ url: `${bare.url}/v1/key` });
        await route.fulfill({ response, headers: { 'access-control-allow-origin': '*' } });
      });
      await page.goto(`${origin}/?from=mail#top`);
      expect(await show(page, reader)).toMatch(/^The key is valid/);
      expect(await page.locator('pre').first().innerText()).toContain(`api='${base}'`);
      await bare.close();
      // They are requests to another host.
      visited.problems.splice(0);
    },
  );

  it('the guide and the list of codes are accessible and as wide as the window', async () => {
    for (const path of ['/guide', '/guide/errors']) {
      await page.goto(`${visited.origin}${path}`);
      for (const [window, colorScheme] of [
        ['wide', 'light'],
        ['telephone', 'dark'],
      ] as const) {
        await page.setViewportSize(WINDOWS[window]);
        await page.emulateMedia({ colorScheme });
        const found = [await findings(page), await overflowOf(page)];
        expect([path, window, ...found]).toEqual([path, window, [], 0]);
        await visited.screenshot(`${path.slice(1).replace('/', '-')}-${colorScheme}`, true);
      }
    }
  });
});
