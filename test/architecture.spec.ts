import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import ts from 'typescript';

const SOURCE = join(__dirname, '..', 'src');

/** Which folders a folder may import, besides itself. The platform imports no module. An extension has no row. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'embedded-postgres': [],
  'platform/errors': [],
  'platform/config': ['platform/errors'],
  'platform/runtime': ['platform/config', 'platform/errors'],
  'platform/database': [
    'embedded-postgres',
    'platform/config',
    'platform/errors',
    'platform/paging',
    'platform/runtime',
    'platform/validation',
  ],
  'platform/validation': ['platform/errors', 'platform/routes'],
  'platform/routes': ['platform/errors'],
  'platform/entity-tags': ['platform/errors', 'platform/routes', 'platform/validation'],
  'platform/paging': ['platform/errors', 'platform/validation'],
  'platform/api-docs': ['platform/errors', 'platform/paging', 'platform/routes', 'platform/validation'],
  'platform/extension': ['platform/config', 'platform/errors'],
  'platform/idempotency': [
    'platform/config',
    'platform/database',
    'platform/entity-tags',
    'platform/errors',
    'platform/routes',
    'platform/runtime',
  ],
  server: ['platform'],
  accounts: ['platform'],
  auth: ['accounts', 'platform'],
  'rate-limit': ['platform'],
};

/** These may import everything: they assemble the service or stand in front of it. */
const MAY_IMPORT_ALL = ['app', 'cli', 'index', 'main', 'replace', 'testing'];

interface SourceFile {
  /** Relative to src, with slashes. */
  readonly path: string;
  readonly text: string;
  /** Modules of our own that it imports, relative to src, without ending. */
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => {
    const path = name.split(sep).join('/');
    const text = readFileSync(join(SOURCE, name), 'utf8');
    const imports = [...text.matchAll(/(?:from|import|require\()\s*'(\.[^']*)'/g)].map(([, to]) =>
      posix.join(posix.dirname(path), to!),
    );
    return { path, text, imports };
  });

/** The folder of a path as the table names it: `platform/routes`, `pets`; for a file at the top its name. */
function folderOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  return first === 'platform' ? `${first}/${second}` : first.replace(/\.ts$/, '');
}

const isTesting = (path: string): boolean => folderOf(path) === 'testing';

const folders = [...new Set(files.map(({ path }) => folderOf(path)))].sort();

/** Folders whose `index.ts` is their public API. */
const withIndex = folders.filter(
  (folder) => folder !== 'testing' && files.some(({ path }) => path === `${folder}/index.ts`),
);

/** Folders whose module is an extension. They may import each other. */
const extensions = folders.filter((folder) =>
  files.some(
    ({ path, text }) =>
      path.startsWith(`${folder}/`) && /^@StoreExtension\(|^export const \w+: Extension =/m.test(text),
  ),
);
const EXTENSIONS_MAY_IMPORT = ['accounts', 'auth', 'rate-limit', 'platform', ...extensions];

const rules = {
  ...MAY_IMPORT,
  ...Object.fromEntries(extensions.map((each) => [each, EXTENSIONS_MAY_IMPORT])),
};

/** The folders that a folder imports, besides itself. */
function importsOf(folder: string): string[] {
  const own = files.filter(({ path }) => folderOf(path) === folder);
  const targets = own.flatMap(({ imports }) => imports.map(folderOf));
  return [...new Set(targets)].filter((target) => target !== folder);
}

/** Containers of facts that declarations fill while files are loaded, or the start. No request changes them. */
const FILLED_BY_DECLARATIONS = [
  'events/event-type-registry.ts: KNOWN_TYPES',
  'platform/api-docs/operation.decorator.ts: DECLARED',
  'platform/database/lists.ts: LISTS',
];

/** The files whose import checks the version of Node.js, or runs the program. */
const PROGRAMS = new Set(['cli/main.ts', 'main.ts', 'platform/runtime/node-version.ts']);

const CHANGING = /^(?:add|clear|delete|pop|push|set|shift|splice|unshift)$/;

const textOf = (node: ts.Node): string => node.getText().split('\n', 1)[0]!;

/** Lists what an import of the file does, besides declaring constants, functions and classes. */
function effectsOf({ path, text }: SourceFile): string[] {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true).statements.flatMap((each) => {
    const isEffect = ts.isImportDeclaration(each) ? !each.importClause : ts.isExpressionStatement(each);
    return isEffect ? [`${path}: ${textOf(each)}`] : [];
  });
}

/** Lists the variables at the top of a file whose value, or whose container, changes later. */
function statesOf({ path, text }: SourceFile): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const declared = source.statements.filter(ts.isVariableStatement).map((each) => each.declarationList);
  const isEmpty = ({ initializer: made }: ts.VariableDeclaration): boolean =>
    made !== undefined &&
    ((ts.isNewExpression(made) &&
      /^(?:Weak)?(?:Map|Set)$/.test(made.expression.getText()) &&
      !made.arguments?.[0]) ||
      (ts.isArrayLiteralExpression(made) && made.elements.length === 0));
  const changed = new Set<string>();
  const visit = (node: ts.Node): void => {
    const target = ts.isCallExpression(node)
      ? node.expression
      : ts.isBinaryExpression(node)
        ? node.left
        : node;
    const isChange = ts.isCallExpression(node)
      ? ts.isPropertyAccessExpression(node.expression) && CHANGING.test(node.expression.name.text)
      : ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
    if (isChange && (ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target)))
      changed.add(target.expression.getText());
    ts.forEachChild(node, visit);
  };
  visit(source);
  return declared.flatMap(({ flags, declarations }) =>
    declarations
      .filter((each) => !(flags & ts.NodeFlags.Const) || isEmpty(each) || changed.has(each.name.getText()))
      .map((each) => `${path}: ${each.name.getText()}`),
  );
}

describe('the architecture', () => {
  it('has a row for every folder and file at the top of src and of platform, except extensions', () => {
    expect(folders).toEqual([...Object.keys(rules), ...MAY_IMPORT_ALL].sort());
    expect(extensions.length).toBeGreaterThan(1);
  });

  it('allows each folder only the imports that its row names', () => {
    const forbidden = Object.entries(rules).flatMap(([folder, allowed]) =>
      importsOf(folder)
        .filter((target) => !allowed.includes(target) && !allowed.includes(target.split('/')[0]!))
        .map((target) => `${folder} → ${target}`),
    );
    expect(forbidden).toEqual([]);
  });

  it('imports testing nowhere else, because a service in production needs no test support', () => {
    const importing = files.filter(
      ({ path, imports }) => folderOf(path) !== 'testing' && imports.some(isTesting),
    );
    expect(importing.map(({ path }) => path)).toEqual([]);
  });

  it('has no file in platform that only the service or only the command line imports', () => {
    const own = files.filter(({ path }) => path.startsWith('platform/'));
    const ofOthers = own.filter(({ path }) => {
      const name = path.replace(/\.ts$/, '');
      const importing = files.filter(({ imports }) =>
        imports.some((to) => to === name || `${to}/index` === name),
      );
      return [['app', 'main', 'server'], ['cli']].some((users) =>
        importing.every((file) => users.includes(folderOf(file.path))),
      );
    });
    expect(ofOthers.map(({ path }) => path)).toEqual([]);
  });

  it('has no circle between folders', () => {
    const open = new Map(folders.map((folder) => [folder, importsOf(folder)]));
    for (let leaf; (leaf = [...open].find(([, targets]) => targets.every((target) => !open.has(target))));)
      open.delete(leaf[0]);
    expect([...open.keys()]).toEqual([]);
  });

  it('imports a module through its index.ts only', () => {
    const deep = files.flatMap(({ path, imports }) =>
      imports
        .filter((target) =>
          withIndex.some((module) => target.startsWith(`${module}/`) && !path.startsWith(`${module}/`)),
        )
        .map((target) => `${path} → ${target}`),
    );
    expect(deep).toEqual([]);
  });

  it('reads process.env in config only', () => {
    const readers = files
      .filter(({ text }) => text.includes('process.env'))
      .map(({ path }) => folderOf(path));
    expect([...new Set(readers)]).toEqual(['platform/config']);
  });

  it('builds queries in repositories, migrations, backups and the database folder only', () => {
    const builders = files.filter(({ text }) =>
      /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE)\b|createQueryBuilder/.test(text),
    );
    const others = builders.filter(
      ({ path }) =>
        !path.endsWith('.repository.ts') &&
        !path.includes('/migrations/') &&
        !path.startsWith('cli/backup/') &&
        !['platform/database', 'embedded-postgres'].includes(folderOf(path)),
    );
    expect(others.map(({ path }) => path)).toEqual([]);
    expect(builders.length).toBeGreaterThan(3);
  });

  it('builds Error bodies in one place', () => {
    const builders = files.filter(({ text }) => /(JSON\.stringify|super)\(\{ code/.test(text));
    expect(builders.map(({ path }) => path)).toEqual(['platform/errors/api-error.ts']);
  });

  it('never lets TypeORM change the schema', () => {
    const text = files.map((file) => file.text).join('\n');
    expect(text.match(/synchronize: \w+/g)).toEqual(['synchronize: false']);
  });

  it('imports what a package exports, and no file inside it', () => {
    const inside = files.filter(({ text }) =>
      /(?:from|import|require\() ?'(?!\.)[^']*\/(?:dist|src|build)\//.test(text),
    );
    expect(inside.map(({ path }) => path)).toEqual([]);
  });

  it('has no state at the top of a file, besides what declarations fill', () => {
    expect(files.flatMap(statesOf)).toEqual(FILLED_BY_DECLARATIONS);
  });

  it('has no file whose import has an effect, besides the programs', () => {
    const library = files.filter(({ path }) => !PROGRAMS.has(path));
    expect(library.flatMap(effectsOf)).toEqual(["app/create-app.ts: import 'reflect-metadata';"]);
  });

  it.each([
    ['let count = 0;', ['count']],
    ['const seen = new Set<string>();', ['seen']],
    ['export const ALL: string[] = [];', ['ALL']],
    ["const known = new Map([['a', 1]]);\nconst add = () => known.set('b', 2);", ['known']],
    ['const totals = { count: 0 };\nfunction add() {\n  totals.count = 1;\n}', ['totals']],
    ["const TABLE = { a: 1 };\nconst NAMES = new Set(['a']);\nclass A {\n  seen = new Set();\n}", []],
  ])('finds state at the top of a file: %s', (text, names) => {
    expect(statesOf({ path: 'a.ts', text, imports: [] })).toEqual(names.map((name) => `a.ts: ${name}`));
  });

  it.each([
    ["import './a';", 1],
    ['process.exit(1);', 1],
    ["setFlagsFromString('--a');", 1],
    ["import { a } from './a';\nexport const b = a;", 0],
  ])('finds the effect of an import: %s', (text, count) => {
    expect(effectsOf({ path: 'a.ts', text, imports: [] })).toHaveLength(count);
  });
});
