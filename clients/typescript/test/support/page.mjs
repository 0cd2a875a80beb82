import { createServer } from 'node:http';
import { join } from 'node:path';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { findChromium } from './find-chromium.mjs';

/** Not localhost: features of secure pages are missing, as on a deployment without TLS. */
const HOST = 'animal-store.test';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-sync',
];

/** Starts a server of an empty page. */
export async function startPageServer() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>A page</title>');
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://${HOST}:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Bundles scenarios.mjs with the client, as a script that sets `scenarios`. */
async function bundleScenarios() {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'scenarios.mjs')],
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'scenarios',
    // Playwright runs the script inside a function.
    footer: { js: 'globalThis.scenarios = scenarios;' },
    write: false,
  });
  return outputFiles[0].text;
}

/** Opens a page with the scenarios. `run` runs one of them in the page. */
export async function openPage(address) {
  const resolve = `--host-resolver-rules=MAP ${HOST} 127.0.0.1`;
  const browser = await chromium.launch({ executablePath: findChromium(), args: [...FLAGS, resolve] });
  const page = await browser.newPage();
  await page.addInitScript({ content: await bundleScenarios() });
  await page.goto(address);
  const run = (name, ...args) =>
    page.evaluate(([scenario, values]) => globalThis.scenarios[scenario](...values), [name, args]);
  return { page, run, close: () => browser.close() };
}
