import type { TestServer } from '../../../src/testing';
import { createDatabase } from '../../support/database';

/** The server of the run, never through its pooler. Its databases have the schema of the store already. */
export const sharedServer: TestServer = {
  createDatabase: async () => {
    const database = await createDatabase();
    return { ...database, url: database.directUrl };
  },
  close: () => Promise.resolve(),
};
