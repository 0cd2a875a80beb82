import type { Browser, Page } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { send } from '../support/http';
import { describeWhen } from '../support/it-when';
import { findings } from './support/accessibility';
import { findChromium } from './support/chromium';
import { openBrowser, visit, WINDOWS } from './support/visit';

// A guard against hanging: Chromium shares the machine with all other specs.
jest.setTimeout(180_000);

const chromium = findChromium();
const inChromium = describeWhen(
  chromium !== undefined,
  'needs Chromium: apt-get install chromium, or CHROMIUM_PATH',
);

const SMALL = { plan: 'enterprise', perMinute: 2, perDay: 1_000 } as const;

/** Types a key and presses Enter. @returns the sentence of the status or of the problem */
async function show(page: Page, key: string): Promise<string> {
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  const sentence = page.locator('[role=status]:not(:empty), [role=alert]:not(:empty)');
  await sentence.waitFor();
  return sentence.innerText();
}

inChromium('the front page in a browser', () => {
  let app: TestApp;
  let browser: Browser;
  let reader: string;
  beforeAll(async () => {
    app = await startApp({ rateLimitBanAfter: 1, rateLimitBanSeconds: 300 });
    reader = (await app.createKey({ account: 'acme', label: 'shop', choice: SMALL, scopes: ['pets:read'] }))
      .key;
    browser = await openBrowser(chromium!);
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it('shows what a key may do and how much is left, with the keyboard only', async () => {
    await send(app.url, 'GET', '/v1/pets', { key: reader });
    const { page, origin, problems, close } = await visit(browser, app.url, 'wide');
    await page.goto(origin);
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
    expect(await page.locator('#facts').innerText()).toMatch(/Label\s+shop\s[^]*Scopes\s+pets:read\s/);
    await close();
    expect(problems).toEqual([]);
  });

  it('shows the lines that connect an agent, with the address of the page', async () => {
    const { page, origin, close } = await visit(browser, app.url, 'narrow');
    await page.goto(origin);
    const { mcpServers } = JSON.parse(await page.locator('[aria-labelledby=agents] pre').innerText());
    expect(mcpServers['animal-store']).toEqual({
      type: 'http',
      url: `${origin}/mcp`,
      headers: { Authorization: 'Bearer API_KEY' },
    });
    await close();
  });

  it('shows that a limit is used up, and a ban', async () => {
    const { key } = await app.createKey({ choice: SMALL });
    const list = () => send(app.url, 'GET', '/v1/pets', { key });
    for (let sent = 0; sent < 3; sent += 1) await list();
    const { page, origin, problems, screenshot, close } = await visit(browser, app.url, 'wide');
    await page.goto(origin);
    await show(page, key);
    expect(await page.locator('#minute-text').innerText()).toMatch(/^0 of 2 requests are left this minute/);
    expect(await page.locator('#ban').isVisible()).toBe(false);
    app.clock.advance({ seconds: 2 });
    await list();
    await show(page, key);
    await page.locator('#ban').waitFor();
    expect(await page.locator('#ban').innerText()).toMatch(
      /^The key is banned until .*, because it did not wait/,
    );
    await screenshot('front-page-ban', true);
    await close();
    expect(problems).toEqual([]);
  });

  it('explains each problem in one sentence, gives the field the focus, and shows nothing else', async () => {
    const { page, origin, screenshot, close } = await visit(browser, app.url, 'telephone');
    await page.goto(origin);
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
    await screenshot('front-page-problem');
    expect(await findings(page)).toEqual([]);
    await page.route('**/v1/key', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    expect(await show(page, reader)).toBe('The service responded with status 502.');
    await page.route('**/v1/key', (route) => route.fulfill({ status: 200, json: {} }));
    expect(await show(page, reader)).toBe('The response has an unexpected form.');
    await page.route('**/v1/key', (route) => route.abort());
    expect(await show(page, reader)).toBe(`The service cannot be reached at ${origin}/v1/key.`);
    await page.unroute('**/v1/key');
    expect(await show(page, reader)).toMatch(/^The key is valid/);
    expect(await page.locator('#key').getAttribute('aria-invalid')).toBe('false');
    await close();
  });

  it.each(['', 'http://animal-store.test'])(
    'works if the base URL is the origin %j',
    async (publicBaseUrl) => {
      const bare = await startApp({ publicBaseUrl });
      const { key } = await bare.createKey();
      const { page, origin, close } = await visit(browser, bare.url, 'wide');
      const base = publicBaseUrl || origin;
      // The proxy of such a deployment adds /v1.
      await page.route(`${base}/key`, async (route) => {
        const response = await route.fetch({ url: `${bare.url}/v1/key` });
        await route.fulfill({ response, headers: { 'access-control-allow-origin': '*' } });
      });
      await page.goto(`${origin}/?from=mail#top`);
      expect(await show(page, key)).toMatch(/^The key is valid/);
      expect(await page.locator('#allowed li').first().innerText()).toBe(
        'Get the key of the request: GET /key',
      );
      expect(await page.locator('pre').first().innerText()).toContain(` ${base}/key`);
      await close();
      await bare.close();
    },
  );

  it('keeps the key only in its memory: not in the URL, in storage, or in the field after a reload or a way back', async () => {
    const { page, origin, close } = await visit(browser, app.url, 'wide');
    await page.goto(origin);
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') sent.push(request.url());
    });
    await show(page, reader);
    expect(page.url()).toBe(`${origin}/`);
    expect(sent.sort()).toEqual([`${origin}/openapi.json`, `${origin}/v1/key`]);
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
    await page.getByRole('link', { name: 'Documentation' }).click();
    await page.locator('.opblock').first().waitFor();
    await page.goBack();
    expect(await page.locator('#key').inputValue()).toBe('');
    await close();
  });

  it.each([
    ['wide', 'light'],
    ['wide', 'dark'],
    ['telephone', 'light'],
    ['telephone', 'dark'],
  ] as const)(
    'is accessible by all rules of axe-core and does not scroll horizontally: %s, %s',
    async (window, colors) => {
      const { key } = await app.createKey({ label: 'a long label '.repeat(7), choice: SMALL });
      const { page, origin, problems, screenshot, close } = await visit(browser, app.url, window, colors);
      await page.goto(origin);
      const width = () => page.evaluate('document.documentElement.scrollWidth');
      expect([await findings(page), await width()]).toEqual([[], WINDOWS[window].width]);
      await screenshot('front-page', true);
      for (const shown of [reader, key]) {
        await show(page, shown);
        expect([await findings(page), await width()]).toEqual([[], WINDOWS[window].width]);
      }
      await show(page, reader);
      await screenshot('front-page-key', true);
      await close();
      expect(problems).toEqual([]);
    },
  );
});
