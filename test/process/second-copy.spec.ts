import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '..', '..');
const TYPESCRIPT = join(ROOT, 'test', 'support', 'typescript.cjs');

/** Ends with another message if it finds no second copy. */
const START = `startAnimalStore({ extensions: [{ name: '' }] });`;

const SOURCE = JSON.stringify(join(ROOT, 'src'));
const COMMON_JS = `const { startAnimalStore } = require(${SOURCE}); ${START}`;
/** It loads only the check and one package of the service: the other program shows that a start runs the check. */
const CHECK = JSON.stringify(join(ROOT, 'src', 'app', 'single-copies'));
const ES_MODULE = `import { createRequire } from 'node:module'; const require = createRequire(${CHECK});
  require('class-transformer'); require(${CHECK}).requireSingleCopies();`;

const SHARED = ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'class-transformer', 'typeorm'];

describe('second copies of packages end the start with a message that names both folders of each', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'animal-store-copies-')));
  afterAll(() => rmSync(folder, { recursive: true }));

  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };

  beforeAll(() => {
    const names = [...SHARED, 'animal-store', 'class-validator'];
    for (const name of names) {
      write(`node_modules/${name}/index.js`, '');
      write(`node_modules/${name}/package.json`, '{"type":"module","exports":"./index.js"}');
    }
    write('main.cjs', names.map((name) => `require('${name}');`).join(' ') + COMMON_JS);
    write('main.mjs', names.map((name) => `import '${name}';`).join(' ') + ES_MODULE);
  });

  it.each([
    ['a CommonJS program', 'main.cjs', SHARED],
    ['an ES module', 'main.mjs', ['class-transformer']],
  ])('%s', (_kind, program, shared) => {
    const command = ['-r', TYPESCRIPT, join(folder, program)];
    const { status, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' });
    const folders = new Map(
      [...stderr.matchAll(/([@\w/-]+) \((\S+) and (\S+)\)/g)].map(([, name, ...both]) => [name, both.sort()]),
    );
    const own = (name: string) =>
      name === 'animal-store' ? ROOT : realpathSync(join(ROOT, 'node_modules', name));
    const expected = [...shared, 'animal-store'].map(
      (name) => [name, [own(name), join(folder, 'node_modules', name)].sort()] as const,
    );
    expect(folders).toEqual(new Map(expected));
    expect(stderr).toMatch(/(^|: )Two copies are in use of .*\. List .* and start again\.\n/);
    expect(status).toBe(1);
  });
});
