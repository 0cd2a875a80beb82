import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

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
    const texts = [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'docs/api.md',
      'openapi.json',
      'examples/a/src/main.ts',
    ];
    const others = [
      '.env',
      '.data/key',
      'CONTRIBUTING.md',
      'docs/decisions/0001.md',
      'dist/removed.js',
      'examples/a/dist/main.js',
      'scripts/a.ts',
      'src/index.ts',
      'test/a.spec.ts',
    ];
    for (const name of [...texts, ...others]) write(name);
    for (const name of ['package.json', '.npmrc']) cpSync(join(ROOT, name), join(project, name));
    write('bin/nest', '#!/bin/sh\nmkdir -p dist; touch dist/index.js\n');
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

  it('exports at most 48 names, types included, which docs/extending.md lists with their use', () => {
    const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');
    const text = read('src', 'index.ts');
    const exported = [...text.matchAll(/^export (?:type )?(?:\{([^}]*)\}|\* as (\w+))/gm)];
    const names = exported.flatMap(([, list, name]) => list?.match(/\w+(?=,|\s*$)/g) ?? [name]);
    expect(exported).toHaveLength(text.match(/^export /gm)!.length);
    expect(names.length).toBeLessThanOrEqual(48);
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
  const cli = (...args: string[]) => {
    const PATH = `${inProject('bin')}:${process.env['PATH']}`;
    const command = ['-c', `${manifest.scripts.cli} "$@"`, 'sh', ...args];
    const { stdout, status } = spawnSync('sh', command, { cwd: project, env: { PATH }, encoding: 'utf8' });
    return { stdout, status };
  };
  const builds = () => readFileSync(inProject('builds'), 'utf8').length;

  beforeEach(() => {
    for (const folder of ['bin', 'scripts', 'src/cli']) mkdirSync(inProject(folder), { recursive: true });
    cpSync('scripts/build-if-changed.sh', inProject('scripts', 'build-if-changed.sh'));
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

  it('builds again if the source changed during the build', () => {
    appendFileSync(inProject('src', 'extra.ts'), '');
    const nest = inProject('bin', 'nest');
    const program = readFileSync(nest, 'utf8');
    appendFileSync(nest, 'sleep 0.1; echo >>src/extra.ts\n');
    cli();
    writeFileSync(nest, program);
    const before = builds();
    cli();
    cli();
    expect(builds()).toBe(before + 1);
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
    expect(cli().stdout).toMatch(/^(one undefined|two)\n$/);
    expect(builds()).toBe(before + 1);
  });

  it('does not run the program if the build fails', () => {
    unpack(source, 'error');
    expect(cli()).toEqual({ status: 1, stdout: '' });
  });

  it('names a package that npm has left out, and the command that installs it', () => {
    const lock = inProject('node_modules', '.package-lock.json');
    const fix = 'is missing. Run npm ci --include=dev --include=peer --no-legacy-peer-deps';
    const build = (PATH: string) =>
      spawnSync('sh', ['scripts/build-if-changed.sh'], { cwd: project, env: { PATH }, encoding: 'utf8' });
    mkdirSync(inProject('node_modules'));
    writeFileSync(lock, '{"node_modules/@nestjs/cli":{}}');
    const withoutPeers = { status: 1, stdout: '', stderr: `The package @nestjs/core ${fix}.\n` };
    expect(build(`${inProject('bin')}:/usr/bin:/bin`)).toMatchObject(withoutPeers);
    writeFileSync(lock, '{"node_modules/@nestjs/core":{}}');
    expect(build('/usr/bin:/bin')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `The package @nestjs/cli ${fix}, or npm run start:prod if dist is complete.\n`,
    });
  });

  it.each(['.', 'clients/typescript', 'test/interop'])(
    'npm in %s installs peers whatever ~/.npmrc says',
    (folder) => {
      writeFileSync(inProject('npmrc'), 'legacy-peer-deps=true\n');
      const args = ['config', 'get', 'legacy-peer-deps', '--userconfig', inProject('npmrc')];
      const { PATH = '' } = process.env;
      expect(execFileSync('npm', args, { cwd: folder, env: { PATH }, encoding: 'utf8' })).toBe('false\n');
    },
  );

  it('runs an installed package, which has no source files', () => {
    rmSync(inProject('src'), { recursive: true });
    mkdirSync(inProject('dist', 'cli'), { recursive: true });
    writeFileSync(inProject('dist', 'cli', 'main.js'), 'console.log("installed")');
    expect(cli()).toEqual({ status: 0, stdout: 'installed\n' });
  });
});
