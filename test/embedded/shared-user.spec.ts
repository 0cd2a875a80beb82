import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '../../src/database/embedded';
import { itWhen } from '../support/it-when';
import { cleanUp, isRoot, options, refusalOf, temporaryFolder } from './support/harness';

// As on a machine without a user postgres.
jest.mock('../../src/database/embedded/server-user', () => ({
  ...jest.requireActual<object>('../../src/database/embedded/server-user'),
  chooseServerUser: () => ({ name: 'nobody', uid: 65_534, gid: 65_534 }),
}));

const asRoot = itWhen(isRoot, 'needs root');

describe('a server that must run as nobody', () => {
  const folder = temporaryFolder();
  afterAll(cleanUp);

  asRoot('says at start that other programs are nobody too', async () => {
    const server = await startEmbedded(options(join(folder, 'data')));
    await server.stop();
    expect(server.notices).toEqual([
      'PostgreSQL runs as nobody, and so do other programs, which can read its data: create a user postgres, or start the service as an ordinary user.',
    ]);
  });

  asRoot('is refused where no shared user is allowed, and leaves nothing behind', async () => {
    const production = options(join(folder, 'production'), { allowSharedUser: false });
    expect(await refusalOf(startEmbedded(production))).toMatch(
      /^EmbeddedServerError: In production PostgreSQL does not run as nobody, .+: create a user postgres, .+\.$/,
    );
    expect(existsSync(production.dataDir)).toBe(false);
  });
});
