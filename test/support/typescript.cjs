// Makes `node -r` run TypeScript, for specs that start other processes.
const { join } = require('node:path');
const { transformFileSync } = require('@swc/core');

const configFile = join(__dirname, '..', '..', '.swcrc');

require.extensions['.ts'] = (module, file) =>
  // oxlint-disable-next-line no-underscore-dangle -- The name in Node.js.
  module._compile(transformFileSync(file, { configFile }).code, file);
