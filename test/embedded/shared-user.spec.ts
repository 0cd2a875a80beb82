import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '../../src/embedded-postgres';
import { itWhen } from '../support/it-when';
import { cleanUp, isRoot, options, rejectionOf, temporaryFolder } from './support/harness';

// Simulates a machine without a user postgres.
jest.mock('../../src/embedded-postgres/server-user', () => ({
  ...jest.requireActual<object>('../../src/embedded-postgres/server-user'),
  chooseServerUser: () => ({ name: 'nobody', uid: 65_534, gid: 65_534 }),
}));

const asRoot = itWhen(isRoot, 'needs root');

describe('a server that runs as a shared user', () => {
  const folder = temporaryFolder();
  afterAll(cleanUp);

  asRoot('warns at start that other programs run as this user too', async () => {
    const server = await startEmbedded(options(join(folder, 'data')));
    await server.stop();
    expect(server.notices).toEqual([
      'PostgreSQL runs as the user nobody. Other programs run as this user too and can read its data: create a user postgres, or start the service as an ordinary user.',
    ]);
  });

  asRoot('is rejected and creates nothing if no shared user is allowed', async () => {
    const production = options(join(folder, 'production'), { allowSharedUser: false });
    expect(await rejectionOf(startEmbedded(production))).toMatch(
      /^EmbeddedServerError: In production PostgreSQL does not run as the user nobody, .+: create a user postgres, .+\.$/,
    );
    expect(existsSync(production.dataDir)).toBe(false);
  });
});
