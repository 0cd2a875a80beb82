import { Client } from 'pg';
import { startApp, type TestApp } from '../support/app';
import { aNewPet } from '../support/factories';
import { type Event, readerFromNow } from './support/feed';

const MAX_POSITION = 2 ** 22 - 1;
const ROLE = `importer_${process.pid}`;

describe('the events of changes', () => {
  let app: TestApp;
  let read: (isSettled?: boolean) => Promise<Event[]>;
  beforeAll(async () => {
    app = await startApp();
  });
  beforeEach(async () => {
    await app.database.truncate('pets');
    read = await readerFromNow(app);
  });
  afterAll(() => app.close());

  it('has the changes of an animal in their order, also if the first transaction changes it last', async () => {
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    const client = new Client({ connectionString: app.database.directUrl });
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
    await app.send('PATCH', `/v1/pets/${id}`, { body: { name: 'first' } });
    await client.query(`UPDATE pets SET name = 'second'`);
    await client.query('COMMIT');
    await client.end();
    const names = (await read()).map(({ data }) => data['name']);
    expect(names).toEqual(['Rex', 'first', 'second']);
  });

  it('keeps the order when its sequence begins again', async () => {
    await app.database.query(`SELECT setval('event_positions_seq', ${MAX_POSITION - 2})`);
    const insert = `INSERT INTO pets (name, category_id, status) SELECT 'Rex', n, 'sold' FROM generate_series(1, 2) AS n`;
    await app.database.query(`BEGIN; ${insert}; UPDATE pets SET category_id = -category_id; COMMIT`);
    // The ids of the last events are those of the next transaction.
    await app.database.query('SELECT pg_current_xact_id()');
    expect((await read()).map(({ data }) => data['categoryId'])).toEqual([1, 2, -1, -2]);
  });

  it('has the changes of every session, with its own search_path, temporary tables and rights', async () => {
    await app.database.query('CREATE SCHEMA other');
    await app.database.administer(`
      CREATE ROLE ${ROLE};
      GRANT USAGE ON SCHEMA public TO ${ROLE};
      GRANT INSERT, SELECT ON pets TO ${ROLE};
      SET ROLE ${ROLE};
      SET search_path = other;
      CREATE TEMPORARY TABLE events (id bigint);
      INSERT INTO public.pets (name, category_id, status) VALUES ('Rex', 1, 'available');
      RESET ROLE;
      DROP OWNED BY ${ROLE};
      DROP ROLE ${ROLE}`);
    expect((await read()).map(({ data }) => data['name'])).toEqual(['Rex']);
  });

  it('has the changes of each statement of SQL', async () => {
    await app.database.query(`
      WITH one AS (INSERT INTO pets (name, category_id, status) VALUES ('a', 1, 'sold') RETURNING id)
      INSERT INTO pets (name, category_id, status) SELECT 'b', id, 'sold' FROM one`);
    await app.database.query(`
      MERGE INTO pets USING (VALUES ('a'), ('c')) AS given (name) ON pets.name = given.name
      WHEN MATCHED THEN UPDATE SET category_id = -2
      WHEN NOT MATCHED THEN INSERT (name, category_id, status) VALUES (given.name, 1, 'sold')`);
    await app.database.query('UPDATE pets SET category_id = -2');
    await app.database.truncate('pets');
    const names = new Map<string, string[]>();
    for (const { type, data } of await read())
      names.set(type, [...(names.get(type) ?? []), String(data['name'])]);
    expect(Object.fromEntries([...names].map(([type, found]) => [type, found.toSorted()]))).toEqual({
      'pet.created': ['a', 'b', 'c'],
      'pet.updated': ['a', 'b', 'c'],
      'pet.deleted': ['a', 'b', 'c'],
    });
  });
});
