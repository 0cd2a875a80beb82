import { Agent } from 'node:http';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';

const WRITERS = 6;
const READERS = 24;
const ANIMALS = 96;
const EVERYTHING = '/v1/pets?limit=100';

describe('GET /v1/pets with 24 concurrent readers of one page', () => {
  let app: TestApp;
  const agent = new Agent({ keepAlive: true, maxSockets: WRITERS + READERS });
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(async () => {
    agent.destroy();
    await app.close();
  });

  /** Makes a read take 20 ms, so that other clients write between its snapshot and its response. */
  async function slowDown() {
    await app.database.query('ALTER TABLE pets RENAME TO animals');
    await app.database.query(
      'CREATE VIEW pets AS SELECT * FROM animals WHERE (SELECT pg_sleep(0.02)::text) IS NOT NULL',
    );
  }

  it('contains an animal in every request that a client sends after its 201', async () => {
    const key = await app.unlimitedKey();
    await slowDown();
    const work = { isDone: false };
    let reads = 0;
    const read = async () => {
      while (!work.isDone) {
        const { status } = await app.get(EVERYTHING, { key, agent });
        expect(status).toBe(200);
        reads += 1;
      }
    };
    const missed: number[] = [];
    const write = async () => {
      for (let created = 0; created < ANIMALS / WRITERS; created += 1) {
        const { status, json } = await app.post('/v1/pets', aNewPet(), { key, agent });
        expect(status).toBe(201);
        const list = await app.get(EVERYTHING, { key, agent });
        if (!list.json.some(({ id }: { id: number }) => id === json.id)) missed.push(json.id);
      }
    };
    const readers = Array.from({ length: READERS }, read);
    await Promise.all(Array.from({ length: WRITERS }, write));
    work.isDone = true;
    await Promise.all(readers);
    expect(missed).toEqual([]);
    expect(reads).toBeGreaterThan(READERS);
  });
});
