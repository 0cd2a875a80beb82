/** The public API of `animal-store/testing`: docs/extending.md. */

export { startTestServer, type TestDatabase, type TestServer } from './test-server';
export { brokenPromises } from './broken-promises';
export type { TestRequest, TestResponse } from './http-client';
export {
  startTestStore,
  TestClock,
  type TestKeyOptions,
  type TestStore,
  type TestStoreOptions,
} from './test-store';
