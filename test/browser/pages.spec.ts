import type { Browser, Page } from 'playwright-core';
import { platformCodes } from '../../src/platform/errors/platform.errors';
import { startApp, type TestApp } from '../support/app';
import { findings } from './support/accessibility';
import { inChromium } from './support/chromium';
import { openBrowser, overflowOf, visit, type Visit, WINDOWS } from './support/visit';

const SMALL = { plan: 'enterprise', perMinute: 2, perDay: 1_000 } as const;

/** Types a key and presses Enter. @returns the sentence of the status or of the problem */
async function show(page: Page, key: string): Promise<string> {
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  const sentence = page.locator('[role=status]:not(:empty), [role=alert]:not(:empty)');
  await sentence.waitFor();
  return sentence.innerText();
}

/** The promises that need a browser. test/openapi and test/problems check the same pages over HTTP. */
inChromium('the pages', (chromium) => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  let reader: string;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 1, rateLimitBanSeconds: 300 });
    browser = await openBrowser(chromium);
    visited = await visit(browser, app.url, 'wide');
    page = visited.page;
    const label = 'a long label '.repeat(7).trim();
    const request = { account: 'acme', label, choice: SMALL, scopes: ['pets:read'] as const };
    reader = (await app.createKey(request)).key;
  });
  afterEach(() => expect(visited.problems.splice(0)).toEqual([]));
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it('the front page shows what a key may do and how much is left, with the keyboard only', async () => {
    await app.get('/v1/pets', { key: reader });
    await page.goto(visited.origin);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('key');
    expect(await show(page, ` ${reader} `)).toBe(
      'The key is valid. It belongs to the account acme, plan enterprise.',
    );
    expect(await page.locator('#minute-text').innerText()).toMatch(
      /^1 of 2 requests are left this minute, until /,
    );
    expect(await page.locator('#day-text').innerText()).toMatch(
      /^999 of 1,000 requests are left today \(UTC\), /,
    );
    expect(await page.evaluate('minute.value / minute.max')).toBe(0.5);
    expect(await page.locator('#allowed li').allInnerTexts()).toEqual([
      'Get the key of the request: GET /v1/key',
      'List animals: GET /v1/pets',
      'Get an animal (deprecated): GET /v1/pets/{petId}',
    ]);
    expect(await page.locator('#denied li').allInnerTexts()).toContain(
      'Get an order: GET /v1/store/orders/{orderId}, needs orders:read or orders:manage',
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
    await show(page, reader);
    expect(page.url()).toBe(`${visited.origin}/`);
    expect(sent.sort()).toEqual([`${visited.origin}/openapi.json`, `${visited.origin}/v1/key`]);
    const stored = await page.context().storageState({ indexedDB: true });
    expect(stored).toEqual({ cookies: [], origins: [] });
    expect(await page.evaluate('JSON.stringify([sessionStorage, history.state, window.name])')).not.toContain(
      'ask_',
    );
    expect(await page.locator('#key').getAttribute('autocomplete')).toBe('off');
    expect(await page.locator('[name]:not(meta)').count()).toBe(0);
    // A browser that keeps the page for the way back sends this event; the browser of this spec keeps none.
    await page.evaluate("dispatchEvent(new Event('pagehide'))");
    expect(await page.locator('#key').inputValue()).toBe('');
    await show(page, reader);
    await page.reload();
    expect(await page.locator('#key').inputValue()).toBe('');
    await show(page, reader);
    await page.goto(`${visited.origin}/problems/route_not_found`);
    await page.goBack();
    expect(await page.locator('#key').inputValue()).toBe('');
  });

  it('the front page shows the lines that connect an agent, with the address of the page', async () => {
    const { mcpServers } = JSON.parse(await page.locator('[aria-labelledby=agents] pre').innerText());
    expect(mcpServers['animal-store']).toEqual({
      type: 'http',
      url: `${visited.origin}/mcp`,
      headers: { Authorization: 'Bearer API_KEY' },
    });
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
      expect(await page.locator('#allowed li').first().innerText()).toBe(
        'Get the key of the request: GET /key',
      );
      expect(await page.locator('pre').first().innerText()).toContain(` ${base}/key`);
      await bare.close();
      // Playwright caches nothing while a page has routes.
      await page.unrouteAll();
      // They are requests to another host.
      visited.problems.splice(0);
    },
  );

  it('the page of a code is accessible, and as wide as the window, for the longest code', async () => {
    const codes = platformCodes.map(({ code }) => code);
    const longest = codes.reduce((one, other) => (other.length > one.length ? other : one));
    await page.goto(`${visited.origin}/problems/${longest}`);
    for (const [window, colorScheme] of [
      ['wide', 'light'],
      ['telephone', 'dark'],
    ] as const) {
      await page.setViewportSize(WINDOWS[window]);
      await page.emulateMedia({ colorScheme });
      const found = [await findings(page), await overflowOf(page)];
      expect([window, ...found]).toEqual([window, [], 0]);
      await visited.screenshot(`problem-page-${colorScheme}`, true);
    }
  });
});
