// Loads the sources of the service with Node's own require(), once for all spec files of a worker (see environment.cjs).
// A file that replaces one of their modules, or loads one again, begins with
// `@jest-environment-options {"ownSources": true}`; then Jest loads them for this file only.
const { createTransformer } = require('@swc/jest');

const transformer = createTransformer();

module.exports = {
  ...transformer,
  process(source, file, options) {
    const { code, map } = transformer.process(source, file, options);
    return {
      code: `if (globalThis.requireSource) module.exports = requireSource(__filename); else (function () { ${code}\n}).call(this);`,
      map,
    };
  },
};
