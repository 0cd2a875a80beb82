// Makes a spec file take packages from Node.js itself, as the service does, instead of having jest load them. The set-up
// of a run, which jest transforms too, is already there: it runs the package as it is.
const vm = require('node:vm');

module.exports = {
  process(source) {
    const asItIs = `(function () { ${source}\n}).call(this);`;
    return {
      code: `if (globalThis.requireInMainContext) module.exports = requireInMainContext(__filename); ${isScript(asItIs) ? `else ${asItIs}` : ''}`,
    };
  },
};

/** False for an ES module, which Node.js never asks a hook of require() about. */
function isScript(source) {
  try {
    return new vm.Script(source) instanceof vm.Script;
  } catch {
    return false;
  }
}
