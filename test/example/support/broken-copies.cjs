// Runs in the folder of the installed example. Standard input: mistakes as `[[title, file, from, to], …]`. Standard
// output: the broken promises of a copy with each mistake, as `[[title, sentences], …]`.
const { cpSync, readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const ROOT = process.cwd();
const load = createRequire(join(ROOT, 'package.json'));
const { brokenPromises, startTestServer, startTestStore } = load('animal-store/testing');
const ts = load('typescript');

const COMPILER_OPTIONS = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.CommonJS,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

/** Copies the sources with one mistake, compiles them, and loads the extension. */
function loadWith(number, [title, file, from, to]) {
  const folder = join(ROOT, 'broken', String(number));
  cpSync(join(ROOT, 'src'), folder, { recursive: true });
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${title}: ${file} does not contain ${from}`);
  writeFileSync(path, text.replace(from, to));
  for (const name of readdirSync(folder, { recursive: true }).filter((each) => each.endsWith('.ts'))) {
    const source = readFileSync(join(folder, name), 'utf8');
    const { outputText } = ts.transpileModule(source, { compilerOptions: COMPILER_OPTIONS });
    writeFileSync(join(folder, name.replace(/ts$/, 'js')), outputText);
  }
  return require(join(folder, 'grooming.module.js')).GroomingModule;
}

async function sentencesOf(number, mistake, server) {
  try {
    const extensions = [loadWith(number, mistake)];
    const store = await startTestStore({ extensions, server });
    try {
      return await brokenPromises(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    return [`The start ends: ${error.message}`];
  }
}

async function main() {
  const mistakes = JSON.parse(readFileSync(0, 'utf8'));
  const server = await startTestServer();
  const found = [];
  for (const [number, mistake] of mistakes.entries()) {
    found.push([mistake[0], await sentencesOf(number, mistake, server)]);
  }
  await server.close();
  process.stdout.write(JSON.stringify(found));
}

void main();
