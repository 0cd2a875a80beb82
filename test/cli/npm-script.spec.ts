import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LONG_AGO = new Date('2000-01-01');
const manifest = join(__dirname, '..', '..', 'package.json');

describe('npm run cli', () => {
  const project = mkdtempSync(join(tmpdir(), 'animal-store-project-'));
  const inProject = (...names: string[]) => join(project, ...names);
  const source = inProject('src', 'cli', 'main.ts');
  afterAll(() => rmSync(project, { recursive: true }));

  /** As `tar` and `rsync` write a file: its time of modification is that of the release. */
  const unpack = (file: string, text: string) => {
    writeFileSync(file, text);
    utimesSync(file, LONG_AGO, LONG_AGO);
  };
  /** Through the shell, as npm does it, with a compiler that copies. */
  const cli = (...args: string[]) => {
    const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts: { cli: string } };
    const PATH = `${inProject('bin')}:${process.env['PATH']}`;
    const command = ['-c', `${scripts.cli} "$@"`, 'sh', ...args];
    const { stdout, status } = spawnSync('sh', command, { cwd: project, env: { PATH }, encoding: 'utf8' });
    return { stdout, status };
  };
  const builds = () => readFileSync(inProject('builds'), 'utf8').length;

  beforeAll(() => {
    for (const folder of ['bin', 'src/cli']) mkdirSync(inProject(folder), { recursive: true });
    const nest = 'printf x >>builds; mkdir -p dist/cli; grep -v error src/cli/main.ts >dist/cli/main.js';
    writeFileSync(inProject('bin', 'nest'), `#!/bin/sh\n${nest}\n`, { mode: 0o755 });
    for (const name of ['package.json', 'nest-cli.json', 'tsconfig.json']) unpack(inProject(name), '{}');
    unpack(source, 'console.log("one", process.argv[2])');
  });

  it('builds first what was never built, and not again as long as nothing changes', () => {
    expect([cli('a'), cli('b')]).toEqual([
      { status: 0, stdout: 'one a\n' },
      { status: 0, stdout: 'one b\n' },
    ]);
    expect(builds()).toBe(1);
  });

  it.each([
    ['a file of the source is another', () => unpack(source, 'console.log("two")')],
    ['a file of the source is gone', () => rmSync(inProject('src', 'extra.ts'))],
    ['package.json is another', () => unpack(inProject('package.json'), '{ }')],
    ['tsconfig.json is another', () => unpack(inProject('tsconfig.json'), '{ }')],
  ])('builds again if %s, however old its time of modification', (_what, change) => {
    appendFileSync(inProject('src', 'extra.ts'), '');
    cli();
    const before = builds();
    change();
    cli();
    expect(cli().stdout).toMatch(/^(one undefined|two)\n$/);
    expect(builds()).toBe(before + 1);
  });

  it('runs nothing if the build fails', () => {
    unpack(source, 'error');
    expect(cli()).toEqual({ status: 1, stdout: '' });
  });

  it('runs an installed package, which has no source', () => {
    rmSync(inProject('src'), { recursive: true });
    writeFileSync(inProject('dist', 'cli', 'main.js'), 'console.log("installed")');
    expect(cli()).toEqual({ status: 0, stdout: 'installed\n' });
  });
});
