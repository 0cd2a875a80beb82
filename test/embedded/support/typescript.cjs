// Lets a plain `node -r` run TypeScript: the specs need the launcher in other processes than jest's.
const { transformFileSync } = require('@swc/core');

const options = {
  swcrc: false,
  jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
  module: { type: 'commonjs' },
};

require.extensions['.ts'] = (module, file) =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name for it.
  module._compile(transformFileSync(file, options).code, file);
