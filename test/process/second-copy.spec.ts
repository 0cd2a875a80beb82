import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createStore } from '../../src/app/store';

const ROOT = join(__dirname, '..', '..');

/** The packages of which the service and its extensions must load the same copy. */
const SHARED = ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'class-transformer', 'typeorm'];

describe('second copies of packages end the start with a message that names both folders of each', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'animal-store-copies-')));
  afterAll(() => rmSync(folder, { recursive: true }));

  const names = [...SHARED, 'animal-store', 'class-validator'];
  const copyOf = (name: string) => join(folder, 'node_modules', name);
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  beforeAll(() => {
    for (const name of names) {
      write(`node_modules/${name}/index.js`, '');
      write(`node_modules/${name}/package.json`, '{"exports":"./index.js"}');
    }
  });

  function expectCopies(message: string, shared: readonly string[]): void {
    const folders = new Map(
      [...message.matchAll(/([@\w/-]+) \((\S+) and (\S+)\)/g)].map(([, name, ...both]) => [
        name,
        both.sort(),
      ]),
    );
    const expected = shared.map((name) => {
      const own = name === 'animal-store' ? ROOT : realpathSync(join(ROOT, 'node_modules', name));
      return [name, [own, copyOf(name)].sort()] as const;
    });
    expect(folders).toEqual(new Map(expected));
    expect(message).toMatch(/(^|: )Two copies are in use of .*\. List .* and start again\.(\n|$)/);
  }

  it('a CommonJS program', () => {
    for (const name of names) require(join(copyOf(name), 'index.js'));
    let message = '';
    try {
      createStore();
    } catch (error) {
      message = String(error);
    }
    expectCopies(message, [...SHARED, 'animal-store']);
  });

  it('an ES module', () => {
    // It loads the check and one package of the service.
    const check = JSON.stringify(join(ROOT, 'src', 'app', 'single-copies'));
    const program = [
      ...names.map((name) => `import '${name}';`),
      `import { createRequire } from 'node:module';`,
      `const require = createRequire(${check});`,
      `require('class-transformer');`,
      `require(${check}).requireSingleCopies();`,
    ];
    write('main.mjs', program.join('\n'));
    const command = ['-r', join(ROOT, 'test', 'support', 'typescript.cjs'), join(folder, 'main.mjs')];
    const { status, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' });
    expectCopies(stderr, ['class-transformer', 'animal-store']);
    expect(status).toBe(1);
  });
});
