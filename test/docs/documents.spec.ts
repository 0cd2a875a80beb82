import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { median } from '../../bench/figures';
import { codeBlocksOf, type Document, documents, filesOf, read, ROOT } from './documents';

const MAX_WORDS = 13_500;

const manual = documents.filter(({ path }) => /^(README|CONTRIBUTING|docs\/)/.test(path));

/** Counts as `wc -w` does. */
function wordsOf({ text }: Document): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

/** True if the parts between lines `// …` are whole lines of the file, in its order. */
function isExcerpt(text: string, file: string): boolean {
  let from = 0;
  return text.split(/^ *\/\/ …\n/m).every((part) => {
    const at = `\n${file}`.indexOf(`\n${part}`, from);
    from = at + part.length;
    return at >= 0;
  });
}

/** The anchors of headings, as GitHub makes them. */
function anchorsOf(markdown: string): string[] {
  const headings = markdown.replace(/^```.*?^```$/gms, '').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('README.md, CONTRIBUTING.md and docs', () => {
  it(`have at most ${MAX_WORDS} words`, () => {
    const counts = manual.map((document) => [document.path, wordsOf(document)] as const);
    const sum = counts.reduce((total, [, words]) => total + words, 0);
    // Shows the words of each file if they are too many.
    expect(sum > MAX_WORDS ? counts : []).toEqual([]);
  });

  it('the README has at most 120 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(120);
  });

  it('and SECURITY.md name only files and scripts of npm that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const security = documents.filter(({ path }) => path === 'SECURITY.md');
    const missing = [...manual, ...security].flatMap(({ path, text }) => {
      const files = [...text.matchAll(/`([\w.-]+\/[\w./-]+\.(?:ts|lua|mjs|cjs|md|ya?ml|json|service))`/g)]
        .map(([, name]) => name!)
        .filter((name) => !['', 'src'].some((folder) => existsSync(join(ROOT, folder, name))));
      const commands = [...text.matchAll(/npm run (?:-s )?([a-z][\w:]*)/g)]
        .map(([, name]) => name!)
        .filter((name) => scripts[name] === undefined);
      return [...files, ...commands].map((name) => `${path}: ${name}`);
    });
    expect(missing).toEqual([]);
  });

  it('docs/extending.md shows code that is compiled and run: excerpts of one file, with "// …" for the rest', () => {
    const tutorial = documents.find(({ path }) => path === 'docs/extending.md')!;
    const shown = codeBlocksOf(tutorial).filter(({ language }) => /^(ts|sql)$/.test(language));
    const files = filesOf('examples/*/src/*.ts', 'examples/*/test/*.ts', 'test/example/*.ts').map(read);
    const invented = shown.filter(({ text }) => !files.some((file) => isExcerpt(text, file)));
    expect(shown.length).toBeGreaterThan(5);
    expect(invented.map(({ text }) => text)).toEqual([]);
  });
});

describe('the documents', () => {
  it('show the signature that Standard Webhooks makes with their secret', () => {
    const example = /`(whsec_\S+)` signs `(\w+)[.](\d+)[.](\S+)` as `(\S+)`/.exec(read('docs/events.md'));
    const [, secret = '', id = '', seconds, body = '', signature] = example ?? [];
    expect(new Webhook(secret).sign(id, new Date(Number(seconds) * 1_000), body)).toBe(signature);
  });

  it('link only to files and headings that exist', () => {
    const broken = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
        .filter(([, file = '', anchor]) => {
          const target = file === '' ? path : join(dirname(path), file);
          if (!existsSync(join(ROOT, target))) return true;
          return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
        })
        .map(([link]) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });
});

describe('docs/performance.md', () => {
  it('has the medians of the run that it names', () => {
    const page = read('docs/performance.md');
    const file = /bench\/results\/[\w-]+compare\.json/.exec(page)![0];
    const measured = JSON.parse(read(file)).loads.map(({ rounds }: any) => {
      const medianOf = (figure: (round: any) => number) => median(rounds.map(figure));
      return [
        medianOf(({ service }) => service.perSecond).toFixed(0),
        medianOf(({ service }) => service.p99Ms).toFixed(2),
        ...['handwritten', 'handwritten-pipelined'].map((name) =>
          medianOf((each) => each.service.perSecond / each[name].perSecond).toFixed(2),
        ),
      ];
    });
    const [, table = ''] = /^load .*\n([^`]*)/m.exec(page)!;
    const rows = table.trim().split('\n');
    expect(rows.map((row) => row.split(/ {2,}/).slice(1))).toEqual(measured);
  });
});
