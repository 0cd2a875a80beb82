// `npm test` gives jest and its workers 64 MiB for young objects: with 32 MiB they take 8 % more processor time.
//
// Projects: `test` (npm test), `quick` (npm run test:quick), `long` (npm run test:long: crashes and durations, against
// the built service), `browser` (npm run test:browser: the pages in Chromium), `demo`, and `corpora` (npm run
// test:corpora: public collections of hostile JSON and strings).
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

// `quick`: the promises of each module, without other programs and outages. `check` runs architecture and prose.
const QUICK = [
  'config',
  'routes',
  'security',
  'administration/addresses',
  'auth/authentication',
  'docs/documents',
  'edge/response-headers',
  'events/recorded-changes',
  'idempotency/(idempotency-key|secrets)',
  'key/get-key',
  'lists/(pages|parameters)',
  'modules/(dto|handlers)',
  'openapi/committed-document',
  'pets/(change-pets|create-pets|read-pets)',
  'rate-limit/(strikes|windows)',
  'store-orders/place-order',
  'usage/usage',
  'webhooks/webhooks',
];

const withServer = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

module.exports = {
  // jest leaves a core for its own process, which waits most of the time. More workers than cores load the service again,
  // and are not faster.
  maxWorkers: '100%',
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
      testMatch: undefined,
      testRegex: QUICK.map((name) => `/test/${name}[.]spec[.]ts$`),
    },
    { ...shared, displayName: 'long', testMatch: ['<rootDir>/test/**/*.long.ts'] },
    { ...shared, displayName: 'example', testMatch: ['<rootDir>/test/**/*.example.ts'] },
    { ...shared, displayName: 'demo', testMatch: ['<rootDir>/test/**/*.demo.ts'] },
    { ...shared, ...withServer, displayName: 'browser', testMatch: ['<rootDir>/test/**/*.browser.ts'] },
    { ...shared, ...withServer, displayName: 'corpora', testMatch: ['<rootDir>/test/**/*.corpora.ts'] },
  ],
};
