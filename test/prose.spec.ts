import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problemsOf } from './prose/check-prose';
import { type Paragraph, proseOfComments, proseOfMarkdown, titlesOf } from './prose/texts';

const ROOT = join(__dirname, '..');

/** docs/style.md quotes what it rules out; the rules do too. */
const QUOTES = ['docs/style.md', 'test/prose/', 'test/prose.spec.ts'];

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !QUOTES.some((quoting) => path.startsWith(quoting)))
  // Git lists a file that was deleted until the deletion is staged.
  .filter((path) => existsSync(join(ROOT, path)));

function problemsIn(pattern: RegExp, proseOf: (text: string) => Paragraph[]): string[] {
  return files
    .filter((path) => pattern.test(path))
    .flatMap((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      return proseOf(text)
        .flatMap(problemsOf)
        .map((problem) => `${path}:${problem}`);
    });
}

describe('the prose', () => {
  it('of every document follows docs/style.md', () => {
    expect(problemsIn(/\.md$/, proseOfMarkdown)).toEqual([]);
  });

  it('of every comment in src and clients follows docs/style.md', () => {
    expect(problemsIn(/^(src|clients)\/.*\.(ts|lua|html)$/, proseOfComments)).toEqual([]);
  });

  it('of every comment in test and bench follows docs/style.md', () => {
    expect(problemsIn(/^(test|bench)\/.*\.(ts|mjs|cjs)$/, proseOfComments)).toEqual([]);
  });

  it('of every comment in the other files follows docs/style.md', () => {
    expect(
      problemsIn(/^(Dockerfile|\.ci\/.*|scripts\/.*|.*\.(ya?ml|cjs|mjs|js|sh))$/, proseOfComments),
    ).toEqual([]);
  });

  it('of every test title follows docs/style.md', () => {
    expect(problemsIn(/^test\/.*\.(spec|long)\.ts$/, titlesOf)).toEqual([]);
  });

  it.each([
    [
      'Whoever sends it is refused.',
      ['1: "Whoever" (the client, the service, the request, …; if, that)', '1: "refused" (reject)'],
    ],
    [`${'word '.repeat(31)}.`, ['1: a sentence of 31 words (at most 30)']],
    ['The service rejects it.', []],
  ])('%s', (text, problems) => {
    expect(problemsOf({ line: 1, text })).toEqual(problems);
  });
});
