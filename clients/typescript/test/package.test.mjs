import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const PACKAGE = join(import.meta.dirname, '..');
const DIST = join(PACKAGE, 'dist');
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
      ['LICENSE', 'README.md', 'package.json'],
    );
  });
});
