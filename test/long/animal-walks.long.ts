import { Client } from 'pg';
import { startEmbedded } from '../../src/embedded-postgres';
import { HELD_WITHOUT_ANIMAL, walkWithAnimals } from '../store-orders/support/animal-walks';
import { dataFolder, runBuilt, running } from '../support/service';
import { createKey } from './support/keys';

const WALKS = { numRuns: 200, maxSteps: 14 };
const STAFF = ['pets:read', 'pets:manage', 'orders:manage'];

jest.setTimeout(600_000);

describe('the built service, with fsync on', () => {
  const folder = dataFolder();
  const environment = { DATA_DIR: folder.path, LOG_LEVEL: 'silent' };
  afterAll(folder.remove);

  it(`gives responses that some order of the requests explains, in ${WALKS.numRuns} random walks of buyers and staff`, async () => {
    const service = await running(runBuilt('main', [], environment));
    const buyers = [];
    for (const account of ['shop', 'zoo', 'farm'])
      buyers.push({ account, isStaff: false, key: await createKey(environment, { account }) });
    const staff = [];
    for (const account of ['the store', 'the store'])
      staff.push({ account, isStaff: true, key: await createKey(environment, { account, scopes: STAFF }) });
    const begin = performance.now();
    const counts = await walkWithAnimals({ url: service.url, buyers, staff }, WALKS);
    const seconds = ((performance.now() - begin) / 1_000).toFixed(0);
    const requests = Object.values(counts).reduce((sum, count) => sum + count, 0);
    process.stdout.write(
      `animals: ${WALKS.numRuns} walks, ${requests} requests in ${seconds} s, responses by status ${JSON.stringify(counts)}\n`,
    );
    expect(await heldWithoutAnimal(folder.path)).toEqual([]);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});

async function heldWithoutAnimal(dataDir: string): Promise<unknown[]> {
  const server = await startEmbedded({ dataDir, binDir: undefined, purpose: 'command' });
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  const { rows } = await client.query<object>(HELD_WITHOUT_ANIMAL);
  await client.end();
  return rows;
}
