import type { Browser } from 'playwright-core';
import { platformCodes } from '../../src/platform/errors/platform.errors';
import { startApp, type TestApp } from '../support/app';
import { describeWhen } from '../support/it-when';
import { findings } from './support/accessibility';
import { findChromium } from './support/chromium';
import { openBrowser, visit } from './support/visit';

jest.setTimeout(180_000);

const chromium = findChromium();
const inChromium = describeWhen(
  chromium !== undefined,
  'needs Chromium: apt-get install chromium, or CHROMIUM_PATH',
);

const windows = [
  ['wide', 'light'],
  ['telephone', 'dark'],
] as const;

inChromium('the page of a code in a browser', () => {
  let app: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    app = await startApp();
    browser = await openBrowser(chromium!);
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  it.each(windows)(
    'is accessible and as wide as a %s window, %s, for every code of the platform',
    async (window, colors) => {
      const { page, origin, problems, screenshot, close } = await visit(browser, app.url, window, colors);
      for (const { code } of platformCodes) {
        await page.goto(`${origin}/problems/${code}`);
        expect({ code, findings: await findings(page) }).toEqual({ code, findings: [] });
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect({ code, overflow }).toEqual({ code, overflow: 0 });
        if (code === 'validation_failed') await screenshot(`problem-page-${window}-${colors}`, true);
      }
      expect(problems).toEqual([]);
      await close();
    },
  );
});
