import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import * as ts from 'typescript';

const STRICT: ts.CompilerOptions = {
  strict: true,
  noEmitOnError: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  lib: ['lib.es2022.d.ts'],
  types: [],
  skipLibCheck: true,
};

/** Stricter than lib.dom.d.ts, which takes the compiler longer than all else. */
const GLOBALS = `declare const console: { log(value: unknown): void };
  declare function fetch(
    url: string, init: { method: string; headers: Record<string, string>; body?: string },
  ): Promise<{ readonly ok: boolean; json(): Promise<any> }>;`;

/** Presses the copy button of a language on the front page. @returns the text of the clipboard */
export async function copied(page: Page, language: string): Promise<string> {
  await page.locator('fieldset label', { hasText: language }).click();
  await page.locator('.snippet:visible button').click();
  await page.evaluate("document.body.append(document.createElement('textarea'))");
  const area = page.locator('textarea');
  await area.press('Control+V');
  const text = await area.inputValue();
  await page.evaluate("document.querySelector('textarea').remove()");
  return text;
}

/** Runs a program; one in TypeScript is compiled with `strict` before. @returns what it prints */
export async function runProgram(interpreter: string, name: string, text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-program-'));
  try {
    const file = join(folder, name);
    writeFileSync(file, text);
    if (name.endsWith('.mts')) compile(file);
    return (await promisify(execFile)(interpreter, [file.replace('.mts', '.mjs')])).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function compile(file: string): void {
  const globals = file.replace('.mts', '.d.ts');
  writeFileSync(globals, GLOBALS);
  const program = ts.createProgram([globals, file], STRICT);
  const found = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  expect(found.map(({ messageText }) => messageText)).toEqual([]);
}
