import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Returns the rules of axe-core that the page breaks, each with its elements. */
export async function findings(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const { violations, passes } = (await page.evaluate('axe.run()')) as AxeResults;
  expect(passes.length).toBeGreaterThan(10);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
