import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

export interface Document {
  /** Relative to the project. */
  readonly path: string;
  readonly text: string;
}

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Lists the files of the repository, also new ones, that match one of the patterns. */
export function filesOf(...patterns: readonly string[]): string[] {
  const listing = ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns];
  const listed = execFileSync('git', listing, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  // Git lists a file that was deleted until the deletion is staged.
  return listed.filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

/** Every document but the changelog, the decisions and the templates of issues. */
export const documents: readonly Document[] = filesOf('*.md')
  .filter((path) => !/^(CHANGELOG|docs\/decisions|\.github)/.test(path))
  .map((path) => ({ path, text: read(path) }));

/** A fenced block of code, such as `sh`. */
export interface CodeBlock {
  readonly language: string;
  readonly text: string;
}

export function codeBlocksOf({ text }: Document): CodeBlock[] {
  const blocks = text.matchAll(/^( *)```(\w+)\n(.*?)^\1```$/gms);
  return [...blocks].map(([, , language, code]) => ({ language: language!, text: code! }));
}
