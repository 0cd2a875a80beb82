// Lets a plain `node -r` run our TypeScript: some specs need it in other processes than jest's.
const { join } = require('node:path');
const { transformFileSync } = require('@swc/core');

const configFile = join(__dirname, '..', '..', '.swcrc');

require.extensions['.ts'] = (module, file) =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name for it.
  module._compile(transformFileSync(file, { configFile }).code, file);
