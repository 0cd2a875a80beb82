import type { Browser } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { describeWhen } from '../support/it-when';
import { findChromium } from './support/chromium';
import { SwaggerUi } from './support/swagger-ui';
import { openBrowser, visit, WINDOWS } from './support/visit';

// A guard against hanging: Chromium shares the machine with all other specs.
jest.setTimeout(180_000);

const chromium = findChromium();
const inChromium = describeWhen(
  chromium !== undefined,
  'needs Chromium: apt-get install chromium, or CHROMIUM_PATH',
);

describe('the HTML pages', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it.each(['/', '/docs'])('%s loads nothing from another host', async (path) => {
    const { text } = await app.get(path, { key: undefined });
    expect(text.match(/<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?\/\/[^"]*"/g)).toBeNull();
  });

  inChromium('the front page and Swagger UI in a browser', () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser(chromium!);
    });
    afterAll(() => browser.close());

    it('executes listPets, createPet and getPet with a real key, shows the rate limit headers, and gets 401 after logout', async () => {
      const { page, origin, problems, screenshot, close } = await visit(browser, app.url, 'wide');
      await page.goto(origin);
      await screenshot('front-page', true);
      await page.locator('a[href$="/docs"]').first().click();
      await page.locator('.opblock').first().waitFor();
      await screenshot('docs', true);
      const ui = new SwaggerUi(page);

      await ui.authorize(app.key);
      const created = await ui.tryOut('pets', 'createPet', {}, '{"name":"Žofie","categoryId":3}');
      await screenshot('docs-createPet');
      const listed = await ui.tryOut('pets', 'listPets', { limit: '2' });
      const second = await ui.tryOut('pets', 'createPet', {}, '{"name":"Rex","categoryId":3}');
      const { id } = JSON.parse(created.body) as { id: number };
      const fetched = await ui.tryOut('pets', 'getPet', { petId: String(id) });
      await screenshot('docs-getPet');
      expect([listed.status, created.status, fetched.status]).toEqual(['200', '201', '200']);
      expect(fetched.body).toContain('Žofie');
      // "Try it out" fills in no Idempotency-Key, so the second creation is not a replay of the first.
      expect(second).toMatchObject({ status: '201', body: expect.stringContaining('Rex') });
      for (const { headers } of [listed, created, fetched]) {
        expect(headers).toMatch(/x-ratelimit-limit: ?1000/);
        expect(headers).toMatch(/x-ratelimit-remaining: ?\d+/);
        expect(headers).toMatch(/x-ratelimit-reset: ?\d+/);
      }
      expect(fetched.headers).toMatch(/sunset: ?Thu, ?05 Dec 2030/);

      await page.reload();
      expect((await ui.tryOut('pets', 'listPets', {})).status).toBe('200');
      expect(problems).toEqual([]);

      await ui.logOut();
      expect((await ui.tryOut('pets', 'listPets', {})).status).toBe('401');
      // Chromium logs every response with a status of 400 or higher as an error.
      expect(problems).toEqual([
        expect.stringMatching(`^401: ${origin}/v1/pets`),
        'console: Failed to load resource: the server responded with a status of 401 (Unauthorized)',
      ]);
      await close();
    });

    it('Swagger UI shows the operations at every URL of its page', async () => {
      const { page, origin, problems, close } = await visit(browser, app.url, 'wide');
      for (const path of ['/docs/', '/docs/index.html', '/docs?x=1']) {
        await page.goto(`${origin}${path}`);
        await page.locator('.opblock').first().waitFor();
      }
      await page.waitForLoadState('networkidle');
      expect(problems).toEqual([]);
      await close();
    });

    it('Swagger UI shows the scopes that an operation needs', async () => {
      const { page, origin, problems, screenshot, close } = await visit(browser, app.url, 'wide');
      await page.goto(`${origin}/docs#/store%20orders/updateOrder`);
      const row = page.locator('.opblock.is-open tr', { hasText: 'x-required-scopes' });
      await row.scrollIntoViewIfNeeded();
      await screenshot('docs-scopes');
      expect(await row.innerText()).toContain('["orders:write","orders:manage"]');
      expect(problems).toEqual([]);
      await close();
    });

    it('no page scrolls horizontally in a narrow window', async () => {
      const { page, origin, problems, screenshot, close } = await visit(browser, app.url, 'narrow');
      for (const [path, name] of [
        ['/docs', 'docs'],
        ['/', 'front-page'],
        ['/docs#/pets/createPet', 'docs-createPet'],
      ] as const) {
        await page.goto(`${origin}${path}`);
        if (path.startsWith('/docs')) await page.locator('.opblock').first().waitFor();
        if (path.includes('#')) await page.locator('.opblock.is-open').waitFor();
        // A deep link opens its operation.
        expect(await page.locator('.opblock.is-open').count()).toBe(path.includes('#') ? 1 : 0);
        await screenshot(name, true);
        const width = await page.evaluate('document.documentElement.scrollWidth');
        expect({ path, width }).toEqual({ path, width: WINDOWS.narrow.width });
      }
      await page.waitForLoadState('networkidle');
      expect(problems).toEqual([]);
      await close();
    });
  });
});
