// Loads the packages of a spec file with Node's own require(), as in the service, instead of jest's. Jest transforms the
// global set-up too; it runs outside the environment and uses the package's own code.
const vm = require('node:vm');

module.exports = {
  process(source) {
    const asItIs = `(function () { ${source}\n}).call(this);`;
    return {
      code: `if (globalThis.requireInMainContext) module.exports = requireInMainContext(__filename); ${isScript(asItIs) ? `else ${asItIs}` : ''}`,
    };
  },
};

/** Returns false for an ES module, which no hook of require() handles. */
function isScript(source) {
  try {
    return new vm.Script(source) instanceof vm.Script;
  } catch {
    return false;
  }
}
