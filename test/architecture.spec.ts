import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

const SOURCE = join(__dirname, '..', 'src');

/** Who may import whom. A folder may import itself; what stands in no row may import everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  // Base: knows no feature.
  clock: [],
  config: [],
  logging: ['config'],
  database: ['config'],
  errors: ['database'],
  http: ['config', 'errors'],
  edge: ['errors', 'http', 'logging'],
  'runtime.module': ['clock', 'config'],
  // Features: each through its door.
  auth: ['clock', 'config', 'database', 'edge', 'errors', 'http'],
  'rate-limit': ['auth', 'clock', 'config', 'database', 'edge', 'errors'],
  idempotency: ['clock', 'database', 'errors', 'http'],
  pets: ['auth', 'database', 'errors', 'http', 'idempotency'],
  'store-orders': ['auth', 'clock', 'database', 'errors', 'http', 'idempotency', 'pets'],
  // At the rim.
  health: ['auth', 'database', 'errors'],
  metrics: ['config', 'errors'],
  openapi: ['auth', 'config', 'errors', 'http'],
  'start-checks': ['errors'],
};

/** These know everything: they put the house together, or stand before it. */
const MAY_IMPORT_ALL = ['app', 'app.module', 'banner', 'cli', 'explain', 'listen', 'main', 'start'];

/** Feature folders, whose `index.ts` is the only way in. */
const FEATURES = new Set(['auth', 'idempotency', 'pets', 'rate-limit', 'store-orders']);

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

/** The first step of a path: a folder, or a file that stands alone. */
function roomOf(path: string): string {
  return path.split('/')[0]!.replace(/\.ts$/, '');
}

describe('the architecture', () => {
  it('has a row for every folder and file at the top of src', () => {
    const rooms = new Set(files.map(({ path }) => roomOf(path)));
    expect([...rooms].sort()).toEqual([...Object.keys(MAY_IMPORT), ...MAY_IMPORT_ALL].sort());
  });

  it('lets each room import only what its row names', () => {
    const forbidden = files.flatMap(({ path, imports }) => {
      const from = roomOf(path);
      const allowed = MAY_IMPORT[from];
      const strangers = imports.filter(
        (to) => roomOf(to) !== from && allowed?.includes(roomOf(to)) === false,
      );
      return strangers.map((to) => `${path} → ${to}`);
    });
    expect(forbidden).toEqual([]);
  });

  it('enters a feature through its door alone', () => {
    const intruders = files.flatMap(({ path, imports }) =>
      imports
        .filter((to) => FEATURES.has(roomOf(to)) && roomOf(to) !== roomOf(path) && to.includes('/'))
        .map((to) => `${path} → ${to}`),
    );
    expect(intruders).toEqual([]);
  });

  it('reads process.env in config alone', () => {
    const readers = files.filter(({ text }) => text.includes('process.env')).map(({ path }) => roomOf(path));
    expect([...new Set(readers)]).toEqual(['config']);
  });

  it('builds queries in repositories and in database alone', () => {
    const builders = files.filter(({ text }) =>
      /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE)\b|createQueryBuilder/.test(text),
    );
    const others = builders.filter(
      ({ path }) => !path.endsWith('.repository.ts') && roomOf(path) !== 'database',
    );
    expect(others.map(({ path }) => path)).toEqual([]);
    expect(builders.length).toBeGreaterThan(3);
  });

  it('builds Error bodies in one place', () => {
    const builders = files.filter(({ text }) => /JSON\.stringify\(\{ code/.test(text));
    expect(builders.map(({ path }) => path)).toEqual(['errors/error-reply.ts']);
  });

  it('never lets TypeORM change the schema', () => {
    const text = files.map((file) => file.text).join('\n');
    expect(text.match(/synchronize: \w+/g)).toEqual(['synchronize: false']);
  });
});
