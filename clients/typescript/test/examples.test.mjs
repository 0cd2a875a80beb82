import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { startStore } from './support/store.mjs';

const PACKAGE = join(import.meta.dirname, '..');
const GENERATED = join(import.meta.dirname, 'generated');
const TSC = join(PACKAGE, 'node_modules', 'typescript', 'bin', 'tsc');
/** The port on which an example listens. */
const PORT = '8080';
const run = promisify(execFile);

const documents = {
  'README.md': join(PACKAGE, 'README.md'),
  'docs/guide.md': join(PACKAGE, '..', '..', 'docs', 'guide.md'),
};

/**
 * A TypeScript block that begins with an import begins a program, and the following ones continue it. A text block after
 * one has its output, a console block the curl commands to it and their output.
 */
function programsOf(markdown) {
  const programs = [];
  let previous = '';
  for (const [, language, text] of markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (language === 'ts' && text.startsWith('import ')) programs.push({ code: '', output: '', session: '' });
    const program = programs.at(-1);
    if (language === 'ts') program.code += text;
    else if (language === 'text' && previous === 'ts') program.output += text;
    else if (language === 'console' && previous === 'ts') program.session += text;
    previous = language;
  }
  return programs;
}

/** Sends the commands of a session to a program, and returns the session with the responses. */
async function repeatSession(session, port) {
  let repeated = '';
  for (const [line, command] of session.matchAll(/^\$ (curl .*)\n/gm)) {
    const patient = command.replace('curl', 'curl --silent --retry 30 --retry-delay 1 --retry-connrefused');
    const { stdout } = await run('sh', ['-c', patient.replace(PORT, port)]);
    repeated += `${line}${stdout}\n`;
  }
  return repeated;
}

async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return String(port);
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
        const programs = programsOf(readFileSync(path, 'utf8'));
        assert.ok(programs.length > 0);
        const key = await store.createKey('reader', { scopes: store.STAFF });
        const port = await findFreePort();
        const script = `${name.replaceAll(/\W/g, '-')}-`;
        for (const [at, { code }] of programs.entries()) {
          const own = code.replaceAll('http://127.0.0.1:3000', store.url).replaceAll('ask_test_…', key);
          writeFileSync(join(GENERATED, `${script}${at}.ts`), own.replace(PORT, port));
        }
        const options = ['--project', 'test/types/examples.json'];
        await run(process.execPath, [TSC, ...options], { cwd: PACKAGE });
        for (const [at, { output, session }] of programs.entries()) {
          const child = spawn(process.execPath, [join(GENERATED, 'js', `${script}${at}.js`)], {
            stdio: ['ignore', 'pipe', 'inherit'],
          });
          const printed = child.stdout.setEncoding('utf8').toArray();
          if (session !== '') {
            assert.equal(await repeatSession(session, port), session);
            child.kill();
          }
          assert.equal((await printed).join(''), output);
        }
      });
    });
  }
});
