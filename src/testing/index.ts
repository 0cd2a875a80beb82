import '../platform/runtime/node-version';
import '../platform/runtime/v8-flags';
import 'reflect-metadata';

/** The public API of `animal-store/testing`: docs/extending.md. */

export {
  authenticatorContract,
  type AuthenticatorUnderTest,
  type Contract,
  type ContractCase,
} from './authenticator.contract';
export type { TestRequest, TestResponse } from './http-client';
export { brokenPromises } from './broken-promises';
export { startTestServer, type TestDatabase, type TestServer } from './test-server';
export {
  startTestStore,
  TestClock,
  type TestKeyOptions,
  type TestStore,
  type TestStoreOptions,
} from './test-store';
