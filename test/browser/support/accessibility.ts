import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Returns the rules of axe-core that the page breaks, each with its elements. @param rules default: all */
export async function findings(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const options = JSON.stringify(rules ? { runOnly: rules } : {});
  const { violations, passes } = (await page.evaluate(`axe.run(${options})`)) as AxeResults;
  expect(passes.length).toBeGreaterThan(rules ? 0 : 10);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
