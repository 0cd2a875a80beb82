// Runs spec files in the main context of their worker, so that packages and the service are loaded once for all files (see
// packages.cjs and sources.cjs). Jest's own environment creates a context for each file and loads 2,700 modules into each.
require('../typescript.cjs');
const { createRequire } = require('node:module');
const v8 = require('node:v8');
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

// The server's user reads files that specs create, also if the umask of this machine is 077.
process.umask(0o022);

/** A placeholder for the main context, for which no object exists. */
const MAIN_CONTEXT = vm.createContext({});

// jest-runtime compiles every module of a spec file with this function. Modules of Jest and test/support come again with each
// file, so they are compiled once: the function is the same, and each call makes a module.
const { compileFunction } = vm;
const compiled = new Map();
vm.compileFunction = (code, parameters, { parsingContext, importModuleDynamically, ...options } = {}) => {
  if (parsingContext !== MAIN_CONTEXT) {
    return compileFunction(code, parameters, { ...options, parsingContext, importModuleDynamically });
  }
  const known = compiled.get(options.filename);
  if (known?.code === code) return known.run;
  const run = compileFunction(code, parameters, options);
  compiled.set(options.filename, { code, run });
  return run;
};

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

/** True when the first environment of a worker exists: while jest loads this file, it transforms each package. */
let isShared = false;

/** Builds each serializer of a response once for all applications of a worker: it is a sixth of the cost of a start. */
function shareSerializers() {
  const path = require.resolve('fast-json-stringify', {
    paths: [require.resolve('@fastify/fast-json-stringify-compiler')],
  });
  const build = require(path);
  // By the shared schemas of an application, as text; their first object stands for all of them.
  const all = new Map();
  const known = new WeakMap();
  const share = (schema, options) => {
    const [first] = Object.values(options.schema ?? {});
    if (!first) return build(schema, options);
    if (!known.has(first)) {
      const text = JSON.stringify(options.schema);
      if (!all.has(text)) all.set(text, new Map());
      known.set(first, all.get(text));
    }
    const built = known.get(first);
    const name = JSON.stringify(schema);
    if (!built.has(name)) built.set(name, build(schema, options));
    return built.get(name);
  };
  require.cache[path].exports = Object.assign(share, build);
}

/** Describes the same controllers and events once for all applications of a worker: it is a third of the cost of a start. */
function shareDocuments() {
  const { SwaggerModule } = require('@nestjs/swagger');
  const create = SwaggerModule.createDocument.bind(SwaggerModule);
  const numbers = new WeakMap();
  let next = 0;
  const numberOf = (type) => numbers.get(type) ?? (numbers.set(type, (next += 1)), next);
  const known = new Map();
  SwaggerModule.createDocument = (app, config, options) => {
    const modules = [...app.container.getModules().values()];
    const types = modules.flatMap(({ controllers }) => [...controllers.keys()]);
    const key = [...types, 'events', ...options.extraModels]
      .map((each) => (typeof each === 'string' ? each : numberOf(each)))
      .join();
    if (!known.has(key)) {
      const { paths, components } = create(app, config, options);
      known.set(key, v8.serialize({ paths, components }));
    }
    // Each application completes its own copy.
    return { ...config, ...v8.deserialize(known.get(key)) };
  };
}

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
    globalThis.requireInMainContext = createRequire(__filename);
    if (!isShared) {
      shareSerializers();
      shareDocuments();
      isShared = true;
    }
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
    await super.teardown();
  }
};
