import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '..', '..');
const BUILD = 'scripts/build.mjs';
const NEST = 'node_modules/@nestjs/cli/bin/nest.js';
const FS = `const fs = require('node:fs'); fs.mkdirSync('dist/cli', { recursive: true });`;

type Ranges = Readonly<Record<string, string>>;

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Ranges;
  readonly peerDependencies: Ranges;
  readonly devDependencies: Ranges;
  readonly scripts: { readonly pack: string };
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
    // Earlier names of this major version, such as `PetHooks as PetEvents`, are aliases.
    const names = exported.flatMap(
      ([, list, name]) => list?.replaceAll(/\w+ as \w+,/g, '').match(/\w+(?=,|\s*$)/g) ?? [name],
    );
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

  it.each(['.', 'clients/typescript', 'test/interop'])(
    'npm in %s installs peers whatever ~/.npmrc says',
    (folder) => {
      expect(readFileSync(join(ROOT, folder, '.npmrc'), 'utf8')).toMatch(/^legacy-peer-deps=false$/m);
    },
  );
});
