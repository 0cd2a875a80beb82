/** The public API of `animal-store/testing`: docs/extending.md. */

export { brokenPromises } from './promises';
export type { TestRequest, TestResponse } from './http-client';
export {
  startTestStore,
  TestClock,
  type TestDatabase,
  type TestKeyOptions,
  type TestStore,
  type TestStoreOptions,
} from './test-store';
