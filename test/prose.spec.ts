import { filesOf, read } from './docs/documents';
import { problemsOf } from './prose/rules';
import { type Paragraph, proseOfComments, proseOfMarkdown, titlesOf } from './prose/texts';

/** docs/style.md quotes what it rules out; the rules do too. */
const QUOTES = ['docs/style.md', 'test/prose/', 'test/prose.spec.ts'];

const files = filesOf().filter((path) => !QUOTES.some((quoting) => path.startsWith(quoting)));

function problemsIn(pattern: RegExp, proseOf: (text: string) => Paragraph[]): string[] {
  return files
    .filter((path) => pattern.test(path))
    .flatMap((path) =>
      proseOf(read(path))
        .flatMap(problemsOf)
        .map((problem) => `${path}:${problem}`),
    );
}

describe('the prose', () => {
  it.each([
    ['document', /\.md$/, proseOfMarkdown],
    ['comment in src and clients', /^(src|clients)\/.*\.(ts|lua|html)$/, proseOfComments],
    ['comment in test and bench', /^(test|bench)\/.*\.(ts|mjs|cjs)$/, proseOfComments],
    [
      'comment in the other files',
      /^(Dockerfile|\.ci\/.*|scripts\/.*|.*\.(ya?ml|cjs|mjs|js|sh))$/,
      proseOfComments,
    ],
    ['test title', /^test\/.*\.(spec|long)\.ts$/, titlesOf],
  ])('of every %s follows docs/style.md', (_what, pattern, proseOf) => {
    expect(problemsIn(pattern, proseOf)).toEqual([]);
  });
});
