// Runs spec files in the main context of their worker, where the packages of the service are loaded once for all files
// (see packages.cjs): jest's own environment gives each file a context, and loads 2,300 modules into each of them.
const { createRequire } = require('node:module');
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

/** Stands for the main context, which jest can be given no object for. */
const MAIN_CONTEXT = vm.createContext({});

// jest-runtime compiles every module of a spec file by this function.
const { compileFunction } = vm;
vm.compileFunction = (code, parameters, { parsingContext, ...options } = {}) =>
  compileFunction(
    code,
    parameters,
    parsingContext === MAIN_CONTEXT ? options : { ...options, parsingContext },
  );

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global = globalThis;
    const FakeTimers = this.fakeTimersModern.constructor;
    // Given the object itself, they would hold the timers of Node's own modules too.
    const global = new Proxy(globalThis, {});
    this.fakeTimersModern = new FakeTimers({ config: config.projectConfig, global });
    this.variables = { ...process.env };
    globalThis.requireInMainContext = createRequire(__filename);
  }

  getVmContext() {
    return MAIN_CONTEXT;
  }

  async teardown() {
    delete globalThis.requireInMainContext;
    // The next file begins with the variables that this one began with.
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, this.variables);
    await super.teardown();
  }
};
