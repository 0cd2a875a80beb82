// Makes `node -r` run TypeScript, for specs that start other processes. In a run of specs each file is compiled once, into
// the folder TEST_COMPILED (see global-setup.ts).
const { readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const v8 = require('node:v8');

const configFile = join(__dirname, '..', '..', '.swcrc');
const folder = process.env.TEST_COMPILED;

// Most code of the specs, and of the processes that they start, runs too briefly to earn back its optimization. The V8 of
// later lines of Node.js lacks this option.
if (folder && process.versions.node.startsWith('20.')) v8.setFlagsFromString('--interrupt-budget=4000000');

require.extensions['.ts'] = (module, file) =>
  // oxlint-disable-next-line no-underscore-dangle -- The name in Node.js.
  module._compile(folder ? compiledOnce(file) : compiled(file), file);

function compiled(file) {
  return require('@swc/core').transformFileSync(file, { configFile }).code;
}

function compiledOnce(file) {
  const kept = join(folder, encodeURIComponent(`${file} ${statSync(file).mtimeMs}`));
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    // This process is the first one that needs the file.
  }
  const code = compiled(file);
  try {
    writeFileSync(`${kept} ${process.pid}`, code);
    renameSync(`${kept} ${process.pid}`, kept);
  } catch {
    // It runs as another user.
  }
  return code;
}
