import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS } from './chromium';

const SCREENSHOTS = join(__dirname, '..', '..', '..', 'test-results');

/** A name that is not localhost: Swagger UI and Chromium treat that one more kindly than a deployment's. */
const HOST = 'animal-store.test';

export const WINDOWS = { wide: { width: 1_280, height: 900 }, narrow: { width: 390, height: 844 } } as const;

/** One window on the service, and everything that went wrong in it. */
export interface Visit {
  readonly page: Page;
  readonly origin: string;
  /** Console errors, uncaught exceptions, failed requests, answers from 400 up, requests to another host. */
  readonly complaints: string[];
  /** With SCREENSHOTS=true: writes what the window shows, or the whole page, to test-results/ for people to look at. */
  readonly screenshot: (name: string, fullPage?: boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}

export function openBrowser(executablePath: string): Promise<Browser> {
  const resolve = `--host-resolver-rules=MAP ${HOST} 127.0.0.1`;
  return chromium.launch({ executablePath, args: [...CHROMIUM_FLAGS, resolve] });
}

export async function visit(browser: Browser, url: string, window: keyof typeof WINDOWS): Promise<Visit> {
  const context = await browser.newContext({ viewport: WINDOWS[window] });
  const page = await context.newPage();
  const origin = `http://${HOST}:${new URL(url).port}`;
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
  page.on('request', (request) => {
    const isOurs = request.url().startsWith(`${origin}/`) || request.url().startsWith('data:');
    if (!isOurs) complaints.push(`another host: ${request.url()}`);
  });
  return {
    page,
    origin,
    complaints,
    screenshot: async (name, fullPage = false) => {
      if (process.env['SCREENSHOTS'] !== 'true') return;
      mkdirSync(SCREENSHOTS, { recursive: true });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${window}.png`), fullPage });
    },
    close: () => context.close(),
  };
}
