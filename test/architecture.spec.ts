import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

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

  it('imports testing only for verify, because a service in production needs no test support', () => {
    const importing = files.filter(
      ({ path, imports }) => folderOf(path) !== 'testing' && imports.some(isTesting),
    );
    expect(importing.map(({ path, imports }) => [path, imports.filter(isTesting)])).toEqual([
      ['cli/verify.command.ts', ['testing/verify-deployment']],
    ]);
  });

  it('has no file in platform that only app and server import', () => {
    const own = files.filter(({ path }) => path.startsWith('platform/'));
    const ofServer = own.filter(({ path }) => {
      const name = path.replace(/\.ts$/, '');
      const importing = files.filter(({ imports }) =>
        imports.some((to) => to === name || `${to}/index` === name),
      );
      return importing.every((file) => ['app', 'main', 'server'].includes(folderOf(file.path)));
    });
    expect(ofServer.map(({ path }) => path)).toEqual([]);
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

  it('builds queries in repositories, migrations and the database folder only', () => {
    const builders = files.filter(({ text }) =>
      /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE)\b|createQueryBuilder/.test(text),
    );
    const others = builders.filter(
      ({ path }) =>
        !path.endsWith('.repository.ts') &&
        !path.includes('/migrations/') &&
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
});
