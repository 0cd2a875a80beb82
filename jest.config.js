const { availableParallelism } = require('node:os');

// `npm test` gives jest and its workers 32 MiB for young objects: with the default, collections take 6 % of its time.
//
// Projects: `test` (npm test), `quick` (npm run test:quick), `long` (npm run test:long: crashes and durations, against
// the built service), `demo`, and `corpora` (npm run test:corpora: public collections of hostile JSON and strings).
const shared = {
  rootDir: __dirname,
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  // Packages of their own, with runners of their own.
  modulePathIgnorePatterns: ['<rootDir>/clients/', '<rootDir>/test/interop/'],
  transform: {
    '/node_modules/.+\\.[cm]?js$': '<rootDir>/test/support/jest/packages.cjs',
    '^.+\\.ts$': '@swc/jest',
  },
  transformIgnorePatterns: [],
};

// `quick` leaves these out: programs and servers of their own, outages, and every file that takes 2 s or more except
// the bytes of `edge/raw` and the limits themselves.
const SLOW = [
  '/test/(browser|cli|embedded|failure|logging|process)/',
  '/test/database/(backup|copy|extension-migrations|restore|schema|sessions)[.]',
  '/test/edge/(greedy-clients|limits|property|protocol-errors|request-log)[.]',
  '/test/rate-limit/(persistence|redis-.*)[.]',
  '/test/testing/(broken-promises|test-store)[.]',
];

const withServer = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

module.exports = {
  // Specs wait for databases, timers and other programs: a single worker leaves a third of its core idle.
  maxWorkers: 2 * availableParallelism(),
  // A guard against hanging, not a promise of speed: the machine may be busy.
  testTimeout: 60_000,
  coverageProvider: 'babel',
  collectCoverageFrom: ['src/**/*.ts'],
  projects: [
    { ...shared, ...withServer, displayName: 'test', testMatch: ['<rootDir>/test/**/*.spec.ts'] },
    {
      ...shared,
      ...withServer,
      displayName: 'quick',
      testMatch: ['<rootDir>/test/**/*.spec.ts'],
      testPathIgnorePatterns: SLOW,
    },
    { ...shared, displayName: 'long', testMatch: ['<rootDir>/test/**/*.long.ts'] },
    { ...shared, displayName: 'example', testMatch: ['<rootDir>/test/**/*.example.ts'] },
    { ...shared, displayName: 'demo', testMatch: ['<rootDir>/test/**/*.demo.ts'] },
    { ...shared, ...withServer, displayName: 'corpora', testMatch: ['<rootDir>/test/**/*.corpora.ts'] },
  ],
};
