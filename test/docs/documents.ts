import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

export interface Document {
  /** Relative to the project. */
  readonly path: string;
  readonly text: string;
}

/** Every document but the changelog, the decisions and the templates of issues. */
export const documents: readonly Document[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'],
  { cwd: ROOT, encoding: 'utf8' },
)
  .split('\n')
  .filter((path) => path !== '' && !/^(CHANGELOG|docs\/decisions|\.github)/.test(path))
  // Git lists a file that was deleted until the deletion is staged.
  .filter((path) => existsSync(join(ROOT, path)))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** A fenced block of code, such as `sh`. */
export interface CodeBlock {
  readonly language: string;
  readonly text: string;
}

export function codeBlocksOf({ text }: Document): CodeBlock[] {
  const blocks = text.matchAll(/^( *)```(\w+)\n(.*?)^\1```$/gms);
  return [...blocks].map(([, , language, code]) => ({ language: language!, text: code! }));
}
