import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

type Ranges = Readonly<Record<string, string>>;

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Ranges;
  readonly peerDependencies: Ranges;
  readonly devDependencies: Ranges;
  readonly scripts: { readonly pack: string };
};

describe('the package', () => {
  it('holds the build of this source, the documentation and openapi.json, and nothing else', () => {
    const project = mkdtempSync(join(tmpdir(), 'animal-store-pack-'));
    const write = (name: string, text = '') => {
      mkdirSync(dirname(join(project, name)), { recursive: true });
      writeFileSync(join(project, name), text, { mode: 0o755 });
    };
    const built = ['dist/index.d.ts', 'dist/index.js', 'dist/index.js.map'];
    const texts = [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'docs/api.md',
      'openapi.json',
      'CONTRIBUTING.md',
      'examples/a/src/main.ts',
    ];
    const others = [
      '.env',
      '.data/key',
      'dist/removed.js',
      'examples/a/dist/main.js',
      'scripts/a.ts',
      'src/index.ts',
      'test/a.spec.ts',
    ];
    for (const name of [...texts, ...others]) write(name);
    for (const name of ['package.json', '.npmrc']) cpSync(join(ROOT, name), join(project, name));
    write('bin/nest', `#!/bin/sh\nmkdir -p dist; touch ${built.join(' ')}\n`);
    const env = { ...process.env, PATH: `${join(project, 'bin')}:${process.env['PATH']}` };
    const packed = spawnSync('sh', ['-c', manifest.scripts.pack], { cwd: project, env, encoding: 'utf8' });
    expect(packed.status).toBe(0);
    const listed = spawnSync('tar', ['-tzf', packed.stdout.trim().split('\n').at(-1)!], { cwd: project });
    const names = listed.stdout.toString().trim().replaceAll('package/', '').split('\n');
    expect(names.sort()).toEqual([...built, ...texts, 'package.json'].sort());
    rmSync(project, { recursive: true });
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
