/** The public API of `animal-store/testing`: docs/extending.md. */

export type { TestRequest, TestResponse } from './http-client';
export { brokenPromises } from './broken-promises';
export {
  startTestServer,
  startTestStore,
  TestClock,
  type TestDatabase,
  type TestKeyOptions,
  type TestServer,
  type TestStore,
  type TestStoreOptions,
} from './test-store';
