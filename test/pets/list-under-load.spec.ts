import { Agent } from 'node:http';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';

const WRITERS = 4;
const READERS = 6;
const ANIMALS = 12;
const EVERYTHING = '/v1/pets?limit=100';

const CREATORS = 20;
/** Each page holds the animals of all creators. */
const LIMITS = [100, 99, 98, 97, 21, 20];
const STATUSES = ['available', 'pending', 'sold'] as const;

describe('GET /v1/pets under load', () => {
  let app: TestApp;
  let key: string;
  const agent = new Agent({ keepAlive: true, maxSockets: CREATORS });
  beforeAll(async () => {
    app = await startApp();
    key = await app.unlimitedKey();
    await slowDown();
  });
  beforeEach(() => app.database.query('TRUNCATE animals CASCADE'));
  afterAll(async () => {
    agent.destroy();
    await app.close();
  });

  /** Makes a read take 20 ms, so that other clients write between its snapshot and its response, and a commit 1 ms. */
  async function slowDown() {
    await app.database.query(`
      ALTER TABLE pets RENAME TO animals;
      CREATE VIEW pets AS SELECT * FROM animals WHERE (SELECT pg_sleep(0.02)::text) IS NOT NULL;
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(0.001); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON animals DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait()`);
  }

  it('contains an animal in every request that a client sends after its 201, with other readers of the page', async () => {
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

  it.each([
    ['one page', () => EVERYTHING],
    ['pages of several lengths', (at: number) => `/v1/pets?limit=${LIMITS[at % LIMITS.length]}`],
    ['the page of its status', (at: number) => `${EVERYTHING}&status=${STATUSES[at % STATUSES.length]}`],
    ['its address', (_at: number, location: string) => location],
  ])('contains the animal that each of many clients has just created: %s', async (_pages, pathOf) => {
    const missed: string[] = [];
    const create = async (at: number): Promise<void> => {
      const body = aNewPet({ status: STATUSES[at % STATUSES.length]! });
      const { status, text, headers } = await app.post('/v1/pets', body, { key, agent });
      expect(status).toBe(201);
      const read = await app.get(pathOf(at, headers.location!), { key, agent });
      if (!read.text.includes(text)) missed.push(text);
    };
    await Promise.all(Array.from({ length: CREATORS }, (_, at) => create(at)));
    expect(missed).toEqual([]);
  });
});
