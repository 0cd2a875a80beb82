import '../platform/runtime/node-version';
import '../platform/runtime/v8-flags';
import 'reflect-metadata';

/** The public API of `animal-store/testing`: docs/extending.md. */

export { authenticatorContract } from './contracts/authenticator.contract';
export type { AuthenticatorUnderTest } from './contracts/credentials-client';
export type { Contract, ContractCase } from './contracts/contract';
export {
  rateLimitStoreContract,
  type RateLimitStoreContractOptions,
} from './contracts/rate-limit-store.contract';
export type { BanSettings, CreateStore, StoreUnderTest } from './contracts/store-under-test';
export type { TestRequest, TestResponse } from './http-client';
export { brokenPromises } from './broken-promises';
export { TestClock } from './test-clock';
export type { TestKeyOptions } from './test-keys';
export { startTestServer, type TestDatabase, type TestServer } from './test-server';
export { startTestStore, type TestStore, type TestStoreOptions } from './test-store';
