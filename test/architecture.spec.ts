import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(__dirname, '..');
const SOURCE = join(ROOT, 'src');
const SQL = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE)\b|createQueryBuilder/;
/** Files that may have SQL. */
const OF_DATABASE =
  /\.repository\.ts$|\/migrations\/|^(?:database|cli\/backup|embedded-postgres)\/|^api\/lists\/lists\.ts$/;

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);
const textOf = (name: string) => readFileSync(join(SOURCE, name), 'utf8');
const folderOf = (name: string) => (name.includes('/') ? name.split('/')[0]! : '.');

/** The imports between files of `src`, `from` and `to` without the extension. */
const imports = files.flatMap((name) =>
  Array.from(textOf(name).matchAll(/(?:from|require\(|import\() ?'(\.[^']*)'/g), ([, path = '']) => {
    const to = relative(SOURCE, join(SOURCE, dirname(name), path));
    return { from: name, to: files.includes(`${to}.ts`) ? `${to}.ts` : join(to, 'index.ts') };
  }),
);
const between = imports.filter(({ from, to }) => folderOf(from) !== folderOf(to));
const nameOf = ({ from, to }: (typeof imports)[number]) => `${from} → ${to}`;

describe('the source', () => {
  it('has SQL only in repositories, migrations, backups, lists and the folders of the database', () => {
    const withSql = files.filter((name) => SQL.test(textOf(name)));
    expect(withSql.length).toBeGreaterThan(3);
    expect(withSql.filter((name) => !OF_DATABASE.test(name))).toEqual([]);
  });

  it('imports only folders that are lower in the table of docs/architecture.md, and modules through their index.ts', () => {
    const table = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');
    const order = Array.from(table.matchAll(/^\| `src\/([a-z.-]+)` +\|/gm), ([, folder = '']) => folder);
    expect(order.toSorted()).toEqual(
      [...new Set(files.map(folderOf))].filter((each) => each !== '.').toSorted(),
    );
    expect(between.length).toBeGreaterThan(300);
    const isUpward = ({ from, to }: (typeof imports)[number]) =>
      order.indexOf(folderOf(to)) <= order.indexOf(folderOf(from));
    expect(between.filter(isUpward).map(nameOf)).toEqual([]);
    const isInside = ({ to }: (typeof imports)[number]) =>
      files.includes(`${folderOf(to)}/index.ts`) && to !== `${folderOf(to)}/index.ts`;
    expect(between.filter(isInside).map(nameOf)).toEqual([]);
  });

  it.each([
    ['files', (name: string) => name],
    // A file next to folders is a place of its own.
    ['folders', (name: string) => (name.split('/').length > 2 ? dirname(name) : name)],
  ])('has no circle of imports between %s, those of types included', (_what, placeOf) => {
    let rest = imports
      .map(({ from, to }) => [placeOf(from), placeOf(to)] as const)
      .filter(([from, to]) => from !== to);
    for (let size = Infinity; rest.length < size;) {
      size = rest.length;
      const [sources, targets] = [0, 1].map((at) => new Set(rest.map((each) => each[at])));
      // A place that imports nothing of the rest, or that the rest does not import, is in no circle.
      rest = rest.filter(([from, to]) => sources!.has(to) && targets!.has(from));
    }
    expect(rest).toEqual([]);
  });
});
