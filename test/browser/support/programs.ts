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
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
  types: [],
  skipLibCheck: true,
};

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

/** Runs a program of the shell. @returns what it prints */
export async function runShell(text: string): Promise<string> {
  return output('sh', '-c', text);
}

export async function runPython(text: string): Promise<string> {
  return inFile('first_flow.py', text, (file) => output('python3', file));
}

/** Compiles a program with `strict`, and runs it. */
export async function runTypeScript(text: string): Promise<string> {
  return inFile('first-flow.mts', text, (file) => {
    const program = ts.createProgram([file], STRICT);
    const { diagnostics } = program.emit();
    const found = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
    expect(found.map(({ messageText }) => messageText)).toEqual([]);
    return output(process.execPath, file.replace('.mts', '.mjs'));
  });
}

async function inFile(name: string, text: string, run: (file: string) => Promise<string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-program-'));
  try {
    const file = join(folder, name);
    writeFileSync(file, text);
    return await run(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function output(program: string, ...args: string[]): Promise<string> {
  return (await promisify(execFile)(program, args)).stdout;
}
