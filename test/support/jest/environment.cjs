// Runs spec files in the main context of their worker, so that packages and the service are loaded once for all files (see
// packages.cjs and sources.cjs). Jest's own environment creates a context for each file and loads 2,700 modules into each.
require('../typescript.cjs');
const { appendFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const v8 = require('node:v8');
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

// Most code of the specs runs too briefly to earn back its optimization. The V8 of later lines of Node.js lacks this option.
if (process.versions.node.startsWith('20.')) v8.setFlagsFromString('--interrupt-budget=4000000');

/** A placeholder for the main context, for which no object exists. */
const MAIN_CONTEXT = vm.createContext({});

// jest-runtime compiles every module of a spec file with this function.
const { compileFunction } = vm;
vm.compileFunction = (code, parameters, { parsingContext, ...options } = {}) =>
  compileFunction(
    code,
    parameters,
    parsingContext === MAIN_CONTEXT ? options : { ...options, parsingContext },
  );

/** jest keeps these on the global object of a spec file. The next file must not find them: its errors would be lost. */
const KEPT_BY_JEST = [
  'EVENT_HANDLERS',
  'TEST_TIMEOUT_SYMBOL',
  'RETRY_TIMES',
  'RETRY_TIMES_SETTER',
  'RETRY_IMMEDIATELY',
  'WAIT_BEFORE_RETRY',
  'LOG_ERRORS_BEFORE_RETRY',
].map((name) => Symbol.for(name));

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global = globalThis;
    const FakeTimers = this.fakeTimersModern.constructor;
    // With the object itself, fake timers would also replace the timers of Node's own modules.
    const global = new Proxy(globalThis, {});
    this.fakeTimersModern = new FakeTimers({ config: config.projectConfig, global });
    this.variables = { ...process.env };
    this.console = globalThis.console;
    this.exit = process.exit;
    this.path = context.testPath;
    this.begin = [performance.now(), process.cpuUsage()];
    globalThis.requireInMainContext = createRequire(__filename);
    const { ownSources = false } = config.projectConfig.testEnvironmentOptions;
    // Coverage counts only what Jest has compiled.
    if (!ownSources && !config.globalConfig.collectCoverage) globalThis.requireSource = requireInMainContext;
  }

  getVmContext() {
    return MAIN_CONTEXT;
  }

  async teardown() {
    delete globalThis.requireInMainContext;
    delete globalThis.requireSource;
    for (const name of [...KEPT_BY_JEST, '__coverage__']) delete globalThis[name];
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
      if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol];
    }
    globalThis.console = this.console;
    process.exit = this.exit;
    // The next file gets the variables with which this one began.
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, this.variables);
    this.printCosts(process.env.TEST_COSTS);
    await super.teardown();
  }

  /** Appends to a file: the seconds of this spec file, those of its worker's processor, and its path. */
  printCosts(file) {
    if (!file) return;
    const [begin, used] = this.begin;
    const { user, system } = process.cpuUsage(used);
    const seconds = [(performance.now() - begin) / 1e3, (user + system) / 1e6].map((each) => each.toFixed(1));
    appendFileSync(file, `${seconds.join(' ')} ${this.path}\n`);
  }
};
