import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { startStore } from './support/store.mjs';

const PACKAGE = join(import.meta.dirname, '..');
const GENERATED = join(import.meta.dirname, 'generated');
const TSC = join(PACKAGE, 'node_modules', 'typescript', 'bin', 'tsc');
const run = promisify(execFile);

const documents = {
  'README.md': join(PACKAGE, 'README.md'),
  'docs/guide.md': join(PACKAGE, '..', '..', 'docs', 'guide.md'),
};

/** The TypeScript blocks of a document are one program, and each text block after one is what it prints. */
function exampleOf(markdown) {
  const blocks = [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text]) => [
    language,
    text,
  ]);
  const code = blocks.filter(([language]) => language === 'ts').map(([, text]) => text);
  const output = blocks
    .filter(([language], index) => language === 'text' && blocks[index - 1]?.[0] === 'ts')
    .map(([, text]) => text);
  return { code: code.join('\n'), output: output.join('') };
}

suite('the examples', () => {
  let store;
  before(() => mkdirSync(GENERATED, { recursive: true }));
  after(() => rmSync(GENERATED, { recursive: true }));

  for (const [name, path] of Object.entries(documents)) {
    suite(name, () => {
      // Each document begins with an empty database.
      before(async () => {
        store = await startStore();
      });
      after(() => store.stop());

      test('compile, and print what the document says', async () => {
        const { code, output } = exampleOf(readFileSync(path, 'utf8'));
        assert.ok(code.includes('createAnimalStore({'));
        const key = await store.createKey('reader', { scopes: store.STAFF });
        const program = code.replaceAll('http://127.0.0.1:3000', store.url).replaceAll('ask_test_…', key);
        const file = `${name.replaceAll(/\W/g, '-')}.ts`;
        writeFileSync(join(GENERATED, file), program);
        const options = ['--project', 'test/types/examples.json'];
        await run(process.execPath, [TSC, ...options], { cwd: PACKAGE });
        const script = join(GENERATED, 'js', file.replace(/ts$/, 'js'));
        const { stdout } = await run(process.execPath, [script]);
        assert.equal(stdout, output);
      });
    });
  }
});
