import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Chromium sends only the page's own requests: no updates, no sync, no QUIC. */
const CHROMIUM_FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Not localhost, because Swagger UI and Chromium treat localhost differently from a deployment's host. */
const HOST = 'animal-store.test';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The windows and color schemes in which each page is checked. */
export const LOOKS = [
  { size: { width: 1_280, height: 900 }, colorScheme: 'light' },
  { size: { width: 360, height: 780 }, colorScheme: 'dark' },
] as const;

/** Finds Chromium by CHROMIUM_PATH or on the PATH. */
function findChromium(): string {
  const { CHROMIUM_PATH, PATH = '' } = process.env;
  const places = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = (CHROMIUM_PATH ? [CHROMIUM_PATH] : places).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error('Chromium is not installed. Run apt-get install chromium, or set CHROMIUM_PATH.');
  }
  return found;
}

/** A browser with one page. Another page of the same origin would cost the processor ten times as much as a load. */
export interface Visit {
  readonly page: Page;
  readonly origin: string;
  /** Console errors, exceptions, failed requests, statuses of 400 or higher, requests to another host or with a key in the URL. */
  readonly problems: string[];
  close(): Promise<void>;
}

export async function visit(url: string): Promise<Visit> {
  const args = [...CHROMIUM_FLAGS, `--host-resolver-rules=MAP ${HOST} 127.0.0.1`];
  const browser = await chromium.launch({ executablePath: findChromium(), args });
  const context = await browser.newContext({ reducedMotion: 'reduce' });
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
    if (!isOurs || request.url().includes('ask_')) problems.push(`another host, or a key: ${request.url()}`);
  });
  return { page, origin, problems, close: () => browser.close() };
}

/** Returns the rules of axe-core that the page breaks, each with its elements, and by how many pixels it is too wide. */
export async function flawsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  // A button has other colors while it changes them.
  await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  const { violations, passes } = (await page.evaluate(`axe.run(${options})`)) as AxeResults;
  expect(passes.length).toBeGreaterThan(rules ? 0 : 10);
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    ...(overflow === 0 ? [] : [`${String(overflow)} px too wide`]),
  ];
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
