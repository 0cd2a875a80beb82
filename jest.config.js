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
    [`^${__dirname}/src/.+\\.ts$`]: '<rootDir>/test/support/jest/sources.cjs',
    '^.+\\.ts$': '@swc/jest',
  },
  transformIgnorePatterns: [],
};

// `quick` leaves these out: programs and servers of their own, outages, agents, and files that take 2 s or more,
// except one for each module.
const SLOW = [
  '/test/(browser|cli|embedded|failure|logging|mcp|metrics|process)/',
  '/test/auth/rotate-key[.]',
  '/test/docs/commands[.]',
  '/test/database/(backup|migrations|restore|sessions)[.]',
  '/test/edge/(greedy-clients|limits|protocol-errors|raw|request-log)[.]',
  '/test/modules/(authenticators|start-checks)[.]',
  '/test/openapi/document[.]',
  '/test/pets/create-pets[.]',
  '/test/problems/codes[.]',
  '/test/rate-limit/(persistence|redis-.*|route-limits)[.]',
  '/test/store-orders/(orders|staff)[.]',
  '/test/testing/(broken-promises|test-store)[.]',
];

const withServer = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

module.exports = {
  // Specs wait for databases, timers and other programs, so a worker for each core leaves a part of it idle. Each further
  // one loads the service again.
  maxWorkers: 1 + availableParallelism(),
  // A guard against hanging, not a promise of speed.
  testTimeout: 300_000,
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
