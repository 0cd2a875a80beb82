import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS } from './chromium';

const SCREENSHOTS = join(__dirname, '..', '..', '..', 'test-results');

/** Not localhost, because Swagger UI and Chromium treat localhost differently from a deployment's host. */
const HOST = 'animal-store.test';

export const WINDOWS = {
  wide: { width: 1_280, height: 900 },
  narrow: { width: 390, height: 844 },
  telephone: { width: 360, height: 780 },
} as const;

/** A browser window with the service, and all its problems. */
export interface Visit {
  readonly page: Page;
  readonly origin: string;
  /** Console errors, exceptions, failed requests, statuses of 400 or higher, requests to another host. */
  readonly problems: string[];
  /** Writes a PNG of the window, or of the whole page, to test-results/ if SCREENSHOTS=true. */
  readonly screenshot: (name: string, fullPage?: boolean) => Promise<void>;
}

export function openBrowser(executablePath: string): Promise<Browser> {
  const resolve = `--host-resolver-rules=MAP ${HOST} 127.0.0.1`;
  return chromium.launch({ executablePath, args: [...CHROMIUM_FLAGS, resolve] });
}

export async function visit(browser: Browser, url: string, window: keyof typeof WINDOWS): Promise<Visit> {
  const context = await browser.newContext({ viewport: WINDOWS[window] });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const origin = `http://${HOST}:${new URL(url).port}`;
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
  });
  page.on('request', (request) => {
    const isOurs = request.url().startsWith(`${origin}/`) || request.url().startsWith('data:');
    if (!isOurs) problems.push(`another host: ${request.url()}`);
  });
  return {
    page,
    origin,
    problems,
    screenshot: async (name, fullPage = false) => {
      if (process.env['SCREENSHOTS'] !== 'true') return;
      mkdirSync(SCREENSHOTS, { recursive: true });
      const { width } = page.viewportSize()!;
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}.png`), fullPage });
    },
  };
}

/** Returns by how many pixels the page is wider than its window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Types a key and presses Enter. @returns the sentence of the status or of the problem */
export async function show(page: Page, key: string): Promise<string> {
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  const sentence = page.locator('[role=status]:not(:empty), [role=alert]:not(:empty)');
  await sentence.waitFor();
  return sentence.innerText();
}

/** Types a key, presses Enter and waits for the usage. @returns its sentence */
export async function showUsage(page: Page, key: string): Promise<string> {
  await show(page, key);
  const sentence = page.locator('#usage-text:not(:empty)');
  await sentence.waitFor();
  return sentence.innerText();
}
