import type { TestServer } from '../../../src/testing';
import { createDatabase } from '../../support/database';

/** The server of the run. Its databases have the schema of the store already. */
export const sharedServer: TestServer = {
  createDatabase: () => createDatabase(),
  close: () => Promise.resolve(),
};
