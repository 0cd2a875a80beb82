import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ServerUser } from '../../src/embedded-postgres/options';
import { chooseServerUser, reachablePath } from '../../src/embedded-postgres/programs';
import { itWhen } from '../support/it-when';

const BUILD = 'scripts/build.mjs';
const NEST = 'node_modules/@nestjs/cli/bin/nest.js';
const INSTALL = 'npm ci --include=dev --include=peer --no-legacy-peer-deps';
const FS = `const fs = require('node:fs'); fs.mkdirSync('dist/cli', { recursive: true });`;
const { scripts } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
  readonly scripts: { readonly cli: string };
};
const LONG_AGO = new Date('2000-01-01');
const ONE = 'console.log("one", process.argv[2])';
const SUCCESS = { status: 0, stderr: '', stdout: 'one undefined\n' };
const FAILURE = { status: 1, stdout: '' };

describe('npm run cli', () => {
  const project = mkdtempSync(join(tmpdir(), 'animal-store-project-'));
  const inProject = (...names: string[]) => join(project, ...names);
  const source = inProject('src', 'cli', 'main.ts');
  afterEach(() => rmSync(project, { recursive: true }));

  /** Writes a file as `tar` and `rsync` do: with the modification time of the release. */
  const unpack = (file: string, text: string) => {
    writeFileSync(file, text);
    utimesSync(file, LONG_AGO, LONG_AGO);
  };
  /** Runs the script in a shell, as npm does, with a compiler that copies. */
  const cliOf = (user: ServerUser | undefined, ...args: string[]) => {
    const command = ['-c', `${scripts.cli} "$@"`, 'sh', ...args];
    const context = { cwd: project, env: { PATH: process.env['PATH'] }, uid: user?.uid, gid: user?.gid };
    const { stdout, stderr, status } = spawnSync('sh', command, { ...context, encoding: 'utf8' });
    return { stdout, stderr, status };
  };
  const cli = (...args: string[]) => cliOf(undefined, ...args);
  const builds = () => readFileSync(inProject('builds'), 'utf8').length;
  const writeNest = (end = '') =>
    writeFileSync(
      inProject(NEST),
      `${FS}
      const text = fs.readFileSync('src/cli/main.ts', 'utf8'); fs.appendFileSync('builds', 'x');
      for (const name of ['main', 'cli/main']) fs.writeFileSync('dist/' + name + '.js', text);
      ${end}
      process.exit(text === 'error' ? 1 : 0);`,
    );
  beforeEach(() => {
    for (const folder of [dirname(NEST), 'node_modules/@nestjs/core', 'scripts', 'src/cli', 'linked'])
      mkdirSync(inProject(folder), { recursive: true });
    cpSync(BUILD, inProject(BUILD));
    writeNest();
    writeFileSync(inProject('node_modules/@nestjs/core/package.json'), '{}');
    for (const name of ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json'])
      unpack(inProject(name), '{}');
    unpack(source, ONE);
    appendFileSync(inProject('src', 'extra.ts'), '');
    symlinkSync('../linked', inProject('src', 'linked'));
  });

  it('builds before the first run, and again only after each change of a source, of a setting or of dist, regardless of its modification time', () => {
    const changes: Record<string, () => unknown> = {
      'a source file changed': () => unpack(source, 'console.log("two")'),
      'a source file was removed': () => rmSync(inProject('src', 'extra.ts')),
      'a source file was renamed': () => renameSync(inProject('src', 'other.ts'), inProject('src', 'x.ts')),
      'a file of a linked folder changed': () => appendFileSync(inProject('linked', 'x.ts'), ' '),
      'package.json changed': () => unpack(inProject('package.json'), '{ }'),
      'package-lock.json changed': () => unpack(inProject('package-lock.json'), '{ }'),
      'tsconfig.json changed': () => unpack(inProject('tsconfig.json'), '{ }'),
      'dist is of another commit': () => writeFileSync(inProject('dist', '.built'), 'another hash'),
      'dist was emptied': () => rmSync(inProject('dist', 'main.js')),
      'a build of other sources ended early, and the earlier ones are back': () => {
        unpack(source, 'error');
        cli();
        unpack(source, 'console.log("two")');
      },
    };
    appendFileSync(inProject('src', 'other.ts'), '');
    writeNest(`fs.appendFileSync('src/extra.ts', ' ');`);
    expect(cli('a').stdout).toBe('one a\n');
    // The source has changed during the build.
    writeNest();
    expect([cli('b').stdout, cli('c').stdout]).toEqual(['one b\n', 'one c\n']);
    expect(builds()).toBe(2);
    const seen = Object.entries(changes).map(([what, change]) => {
      change();
      const before = builds();
      return [what, cli().stdout, builds() - before];
    });
    expect(seen).toEqual(Object.keys(changes).map((what) => [what, 'two\n', 1]));
  });

  it('runs a complete build, without another one, in a project that was copied or has lost something', () => {
    const changes: Record<string, () => unknown> = {
      'was copied': () => execFileSync('sh', ['-c', 'mv src x; cp -r x src; rm -r x'], { cwd: project }),
      'has links to nothing': () => symlinkSync('none', inProject('src', 'none')),
      'has files of a desktop': () => writeFileSync(inProject('src', '.DS_Store'), 'x'),
      'lost its compiler': () => rmSync(inProject('node_modules', '@nestjs', 'cli'), { recursive: true }),
      'lost its sources': () => rmSync(inProject('src'), { recursive: true }),
      'lost sources and scripts': () => rmSync(inProject('scripts'), { recursive: true }),
    };
    cli();
    const seen = Object.entries(changes).map(([what, change]) => {
      change();
      return { what, ...cli(), builds: builds() };
    });
    expect(seen).toEqual(Object.keys(changes).map((what) => ({ what, ...SUCCESS, builds: 1 })));
  });

  const user = chooseServerUser();
  const isReachable = reachablePath(process.execPath, user) === process.execPath;
  itWhen(isReachable, "needs a Node.js that the server's user can reach")(
    'runs a complete build of other sources if it cannot write or has no compiler, and says so; it rejects an incomplete one',
    async () => {
      cli();
      unpack(source, 'console.log("two")');
      const using = 'Using dist, which was built from other sources';
      chmodSync(project, 0o755);
      chmodSync(inProject('dist'), 0o555);
      const stderr = `${using}: dist cannot be written (EACCES).\n`;
      expect(cliOf(user)).toEqual({ ...SUCCESS, stderr });
      for (const name of ['dist', 'dist/cli', 'dist/main.js']) chmodSync(inProject(name), 0o777);
      chmodSync(inProject('dist/cli/main.js'), 0o444);
      expect(cliOf(user)).toEqual({ ...SUCCESS, stderr: stderr.replace('dist c', 'dist/cli/main.js c') });
      rmSync(inProject('node_modules', '@nestjs', 'cli'), { recursive: true });
      expect(cli()).toEqual({ ...SUCCESS, stderr: `${using}: the package @nestjs/cli is missing.\n` });
      rmSync(inProject('dist', '.built'));
      expect(cli()).toEqual({
        ...FAILURE,
        stderr: `Nothing can be built: the package @nestjs/cli is missing. Run ${INSTALL}, or npm run start:prod if dist is complete.\n`,
      });
    },
  );

  it('does not run the program if the build fails, or if npm has left out a package, which it names', () => {
    unpack(source, 'error');
    expect(cli()).toEqual({ ...FAILURE, stderr: 'Building…\n' });
    rmSync(inProject('node_modules', '@nestjs', 'core'), { recursive: true });
    const stderr = `The package @nestjs/core is missing. Run ${INSTALL}.\n`;
    expect(cli()).toEqual({ ...FAILURE, stderr });
  });
});
