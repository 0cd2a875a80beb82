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

  /** Writes a file as `tar` and `rsync` do: with the modification time of the release. */
  const unpack = (file: string, text: string) => {
    writeFileSync(file, text);
    utimesSync(file, LONG_AGO, LONG_AGO);
  };
  /** Runs the script in a shell, as npm does, with a compiler that copies. */
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

  it('builds before the first run, and not again until the source changes', () => {
    expect([cli('a'), cli('b')]).toEqual([
      { status: 0, stdout: 'one a\n' },
      { status: 0, stdout: 'one b\n' },
    ]);
    expect(builds()).toBe(1);
  });

  it.each([
    ['a source file changed', () => unpack(source, 'console.log("two")')],
    ['a source file was removed', () => rmSync(inProject('src', 'extra.ts'))],
    ['package.json changed', () => unpack(inProject('package.json'), '{ }')],
    ['tsconfig.json changed', () => unpack(inProject('tsconfig.json'), '{ }')],
  ])('builds again if %s, regardless of its modification time', (_what, change) => {
    appendFileSync(inProject('src', 'extra.ts'), '');
    cli();
    const before = builds();
    change();
    cli();
    expect(cli().stdout).toMatch(/^(one undefined|two)\n$/);
    expect(builds()).toBe(before + 1);
  });

  it('does not run the program if the build fails', () => {
    unpack(source, 'error');
    expect(cli()).toEqual({ status: 1, stdout: '' });
  });

  it('includes openapi.json, which verify reads, in the package', () => {
    const { files } = JSON.parse(readFileSync(manifest, 'utf8')) as { files: string[] };
    expect(files).toEqual(expect.arrayContaining(['dist', 'openapi.json']));
  });

  it('runs an installed package, which has no source files', () => {
    rmSync(inProject('src'), { recursive: true });
    writeFileSync(inProject('dist', 'cli', 'main.js'), 'console.log("installed")');
    expect(cli()).toEqual({ status: 0, stdout: 'installed\n' });
  });
});
