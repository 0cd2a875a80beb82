import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chooseServerUser, reachablePath, type ServerUser } from '../../src/embedded-postgres/programs';
import { itWhen } from '../support/it-when';

const ROOT = join(__dirname, '..', '..');
const BUILD = 'scripts/build.mjs';
const NEST = 'node_modules/@nestjs/cli/bin/nest.js';
const INSTALL = 'npm ci --include=dev --include=peer --no-legacy-peer-deps';
const FS = `const fs = require('node:fs'); fs.mkdirSync('dist/cli', { recursive: true });`;

type Ranges = Readonly<Record<string, string>>;

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Ranges;
  readonly peerDependencies: Ranges;
  readonly devDependencies: Ranges;
  readonly scripts: { readonly cli: string; readonly pack: string };
};

describe('the package', () => {
  it('holds the build of this source, types of its entries, documents, examples and openapi.json, and nothing else', () => {
    const project = mkdtempSync(join(tmpdir(), 'animal-store-pack-'));
    const write = (name: string, text = '') => {
      mkdirSync(dirname(join(project, name)), { recursive: true });
      writeFileSync(join(project, name), text, { mode: 0o755 });
    };
    const built = ['dist/index.d.ts', 'dist/index.js'];
    const texts = 'CHANGELOG.md LICENSE README.md docs/api.md openapi.json examples/a/src/main.ts'.split(' ');
    const others =
      '.env .data/key CONTRIBUTING.md docs/decisions/0001.md dist/removed.js examples/a/dist/main.js scripts/a.ts src/index.ts test/a.spec.ts';
    for (const name of [...texts, ...others.split(' ')]) write(name);
    for (const name of ['package.json', '.npmrc']) cpSync(join(ROOT, name), join(project, name));
    cpSync(BUILD, join(project, BUILD));
    write('node_modules/@nestjs/core/package.json', '{}');
    write(NEST, `${FS} fs.writeFileSync('dist/index.js', '')`);
    write('bin/tsc', '#!/bin/sh\nmkdir -p dist/types; touch dist/types/index.d.ts\n');
    write('bin/rollup', '#!/bin/sh\ncp dist/types/index.d.ts dist\n');
    const env = { ...process.env, PATH: `${join(project, 'bin')}:${process.env['PATH']}` };
    const packed = spawnSync('sh', ['-c', manifest.scripts.pack], { cwd: project, env, encoding: 'utf8' });
    expect(packed.status).toBe(0);
    const listed = spawnSync('tar', ['-tzf', packed.stdout.trim().split('\n').at(-1)!], { cwd: project });
    const names = listed.stdout.toString().trim().replaceAll('package/', '').split('\n');
    expect(names.sort()).toEqual([...built, ...texts, 'package.json'].sort());
    rmSync(project, { recursive: true });
  });

  it('exports at most 49 names, types included, which docs/extending.md lists with their use', () => {
    const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');
    const text = read('src', 'index.ts');
    const exported = [...text.matchAll(/^export (?:type )?(?:\{([^}]*)\}|\* as (\w+))/gm)];
    const names = exported.flatMap(([, list, name]) => list?.match(/\w+(?=,|\s*$)/g) ?? [name]);
    expect(exported).toHaveLength(text.match(/^export /gm)!.length);
    expect(names.length).toBeLessThanOrEqual(49);
    const [table = ''] = read('docs', 'extending.md').split('\n| names ').slice(1);
    const listed = [...table.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, row]) => row!.match(/\w+/g)!);
    expect(new Set(listed)).toEqual(new Set(names));
  });

  it('depends on every package that its source imports', () => {
    const source = join(ROOT, 'src');
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
    const imports = files
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => [...readFileSync(join(source, name), 'utf8').matchAll(/ from '([^.'][^']*)'/g)])
      .map(([, specifier]) => specifier!)
      .filter((specifier) => !isBuiltin(specifier))
      .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)![0]);
    const installed = { ...manifest.dependencies, ...manifest.peerDependencies };
    expect([...new Set(imports)].filter((name) => !(name in installed))).toEqual([]);
  });

  it('shares each package that a team imports too, as a peer that `npm ci --omit=dev` installs', () => {
    const { dependencies, peerDependencies, devDependencies } = manifest;
    const others = { ...dependencies, ...devDependencies };
    expect(Object.keys(peerDependencies)).toContain('@nestjs/common');
    expect(
      Object.keys(others).filter((name) => name in peerDependencies || /^@nestjs\/(?!cli|schem)/.test(name)),
    ).toEqual([]);
  });
});

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
    const command = ['-c', `${manifest.scripts.cli} "$@"`, 'sh', ...args];
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

  it.each(['.', 'clients/typescript', 'test/interop'])(
    'npm in %s installs peers whatever ~/.npmrc says',
    (folder) => {
      expect(readFileSync(join(ROOT, folder, '.npmrc'), 'utf8')).toMatch(/^legacy-peer-deps=false$/m);
    },
  );
});
