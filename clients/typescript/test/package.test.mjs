import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const PACKAGE = join(import.meta.dirname, '..');
const DIST = join(PACKAGE, 'dist');
const JEST = join(PACKAGE, '..', '..', 'node_modules', 'jest', 'bin', 'jest.js');
/** README.md says so. */
const MAX_COMPRESSED_BYTES = 8_000;

suite('the package', () => {
  test('is small in a browser, with its dependency', async (context) => {
    const { outputFiles } = await build({
      entryPoints: [join(DIST, 'index.js')],
      bundle: true,
      minify: true,
      platform: 'browser',
      format: 'esm',
      write: false,
    });
    const [{ contents }] = outputFiles;
    const gzip = gzipSync(contents).length;
    const brotli = brotliCompressSync(contents).length;
    context.diagnostic(`bundle: ${contents.length} bytes, ${gzip} with gzip, ${brotli} with Brotli`);
    assert.ok(gzip < MAX_COMPRESSED_BYTES);
  });

  test('imports files with their ending, and nothing of Node.js, so it runs in browsers and Deno too', () => {
    const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
    const files = readdirSync(DIST, { recursive: true }).filter((name) => /\.(js|d\.ts)$/.test(name));
    const imports = files.flatMap((name) =>
      [...readFileSync(join(DIST, name), 'utf8').matchAll(/(?<!')(?:from|import) ?\(?'([^']+)'/g)].map(
        ([, to]) => to,
      ),
    );
    assert.ok(imports.length > 10);
    assert.deepEqual(
      imports.filter((to) => !/^\.\.?\/.*\.js$/.test(to) && !(to in dependencies)),
      [],
    );
  });

  test('holds the build, the README and the licence', () => {
    const output = execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: PACKAGE, encoding: 'utf8' });
    const names = JSON.parse(output)[0].files.map(({ path }) => path);
    assert.deepEqual(
      names.filter((name) => !/^dist\/.*\.(js|d\.ts)$/.test(name)),
      ['LICENSE', 'README.md', 'dist/cjs/package.json', 'package.json'],
    );
  });

  test('is one module for import and require', async () => {
    const required = createRequire(import.meta.url);
    assert.equal(required('animal-store-client').etagOf, (await import('animal-store-client')).etagOf);
  });

  test('can be required in Jest, which needs CommonJS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'animal-store-jest-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(PACKAGE, join(folder, 'node_modules', 'animal-store-client'));
    writeFileSync(join(folder, 'package.json'), '{"jest":{"transform":{}}}');
    writeFileSync(
      join(folder, 'a.test.js'),
      `const { createAnimalStore } = require('animal-store-client');
      test('exact', async () => {
        const fetch = async () => new Response('{"id":9007199254740993}');
        const store = createAnimalStore({ baseUrl: 'https://a.example', key: 'a', fetch });
        expect(await store.getPet(1n)).toEqual({ id: 9007199254740993n });
      });`,
    );
    const { status, stderr } = spawnSync(process.execPath, [JEST], { cwd: folder, encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    assert.equal(status, 0, stderr);
  });
});
