import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';

/** Presses the copy button of a language on the front page. @returns the text of the clipboard */
export async function copied(page: Page, language: string): Promise<string> {
  const program = page.locator('details', { hasText: language });
  if (!(await program.locator('pre').isVisible())) await program.locator('summary').click();
  await program.getByRole('button').click();
  await page.evaluate("document.body.append(document.createElement('textarea'))");
  const area = page.locator('textarea');
  await area.press('Control+V');
  const text = await area.inputValue();
  await page.evaluate("document.querySelector('textarea').remove()");
  return text;
}

/** Runs a program. @returns what it prints */
export async function runProgram(interpreter: string, name: string, text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-program-'));
  try {
    const file = join(folder, name);
    writeFileSync(file, text);
    return (await promisify(execFile)(interpreter, [file])).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
