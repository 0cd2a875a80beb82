import type { Browser, Page } from 'playwright-core';
import { startApp, type TestApp } from '../support/app';
import { holdTimers } from '../support/timers';
import { findings } from './support/accessibility';
import { inChromium } from './support/chromium';
import { openBrowser, overflowOf, showUsage, visit, type Visit, WINDOWS } from './support/visit';

inChromium('the plot of usage', (chromium) => {
  let app: TestApp;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    // The request for the usage is itself a use, which the service writes later.
    holdTimers();
    app = await startApp();
    browser = await openBrowser(chromium);
  });
  beforeEach(async () => {
    visited = await visit(browser, app.url, 'wide');
    page = visited.page;
    await page.goto(visited.origin);
  });
  afterEach(() => expect(visited.problems).toEqual([]));
  afterEach(() => page.context().close());
  afterAll(async () => {
    await browser.close();
    await app.close();
    jest.useRealTimers();
  });

  it.each([0, 1, 30] as const)(
    'the front page draws the requests of %i days, with a table for screen readers, and is accessible',
    async (count) => {
      const { id, key } = await app.createKey({ account: `days ${count}` });
      await app.database.query(
        `INSERT INTO key_usage
         SELECT account_id, date '2026-11-21' - n, id, 1000 + n * n * 17 % 700, CASE n % 4 WHEN 2 THEN n * 15 ELSE 0 END, n, 1
         FROM api_keys, generate_series(0, $2 - 1) AS n WHERE id = $1`,
        [id, count],
      );
      const sums = {
        0: 'No requests.',
        1: '1,000 admitted, 0 of them with 4xx, 1 with 5xx. 0 rejected with 429.',
        30: '40,335 admitted, 435 of them with 4xx, 30 with 5xx. 1,470 rejected with 429.',
      };
      expect(await showUsage(page, key)).toBe(sums[count]);
      expect(await page.locator('#usage').isVisible()).toBe(count > 0);
      const bars = page.locator('#bars');
      expect([await bars.locator('.admitted').count(), await bars.locator('.rejected').count()]).toEqual([
        count,
        count === 30 ? 7 : 0,
      ]);
      const rows = await page.locator('#days tr').allTextContents();
      expect([rows.length, rows.at(-1) ?? 'none']).toEqual([count, count > 0 ? 'Nov 211,000001' : 'none']);
      for (const window of ['wide', 'narrow'] as const) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize(WINDOWS[window]);
          await page.emulateMedia({ colorScheme });
          const found = [await findings(page), await overflowOf(page)];
          expect([window, colorScheme, ...found]).toEqual([window, colorScheme, [], 0]);
          await visited.screenshot(`usage-${count}-${colorScheme}`, true);
        }
      }
    },
  );

  it('the front page does not read the usage if no request is left, and names a problem', async () => {
    const { key } = await app.createKey({ choice: { plan: 'enterprise', perMinute: 1, perDay: 1_000 } });
    await app.get('/v1/pets', { key });
    expect(await showUsage(page, key)).toBe('No request is left to read the usage.');
    await page.route('**/v1/usage?*', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    expect(await showUsage(page, app.key)).toBe('The service responded with status 502.');
    visited.problems.splice(0);
  });
});
