import { createStore } from '../../src/app/store';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { createDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { schemaConfig } from '../support/schema-config';
import { journal } from './support/journal.extension';

const isDocumented = false;

describe('a listener to animals and orders', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createDatabase();
    await migrate({ ...schemaConfig(database.directUrl), ...createStore([journal]) });
    app = await startApp({}, { extensions: [journal], database });
  });
  afterAll(() => app.close());
  beforeEach(() => app.database.query('TRUNCATE journal, journal_notes'));

  const entries = async () => {
    const rows = await app.database.query<{ entry: string }>('SELECT entry FROM journal ORDER BY id');
    return rows.map(({ entry }) => entry);
  };
  const addPet = async (name: string, headers = {}) =>
    (await app.post('/v1/pets', { name, categoryId: 1 }, { headers, isDocumented })).json;
  const account = async () =>
    (await app.database.query<{ id: string }>('SELECT min(id) AS id FROM accounts'))[0]!.id;

  it('gets each change with the state before, and its rows commit with the change', async () => {
    const { id } = await addPet('Rex');
    const { json: order } = await app.post('/v1/store/orders', { petId: id });
    await app.send('PATCH', `/v1/store/orders/${order.id}`, { body: { status: 'approved' } });
    await app.send('PATCH', `/v1/store/orders/${order.id}`, { body: { status: 'delivered' } });
    const by = `order of ${id} by ${await account()}`;
    expect(await entries()).toEqual([
      'Rex: undefined to available',
      'Rex: available to pending',
      `${by}: undefined to placed`,
      `${by}: placed to approved`,
      'Rex: pending to sold',
      `${by}: approved to delivered`,
    ]);
    // A change of the animal itself, after its order is final.
    await app.send('PATCH', `/v1/pets/${id}`, { body: { name: 'Max', status: 'available' } });
    expect((await entries()).at(-1)).toBe('Max: sold to available');
  });

  it('rolls back the change and the rows of every listener if it throws; an ApiError is the response', async () => {
    const { id } = await addPet('Bella');
    const { json: order } = await app.post('/v1/store/orders', { petId: id });
    const before = await entries();
    const path = `/v1/store/orders/${order.id}`;
    const options = { body: { status: 'cancelled' }, isDocumented };
    expectError(await app.send('PATCH', path, options), 409, 'order_vetoed');
    expect((await app.get(path)).json.status).toBe('placed');
    expect((await app.get(`/v1/pets/${id}`)).json.status).toBe('pending');
    expect(await entries()).toEqual(before);
    const { count } = (await app.database.query<{ count: string }>('SELECT count(*) FROM pets'))[0]!;
    expect(await addPet('Veto')).toMatchObject({ code: 'order_vetoed' });
    expect(await app.database.query('SELECT count(*) FROM pets')).toEqual([{ count }]);
  });

  it('gets a removal, and rolls it back if it throws', async () => {
    const [rex, veto, broken] = await Promise.all(['Rex', 'Bella', 'Bella'].map((name) => addPet(name)));
    // As `Veto` and `Broken` a listener would reject their creation, or the removal.
    await app.database.query(`UPDATE pets SET name = 'Veto' WHERE id = ${veto.id}`);
    await app.database.query(`UPDATE pets SET name = 'Broken' WHERE id = ${broken.id}`);
    const remove = (id: number) => app.send('DELETE', `/v1/pets/${id}`, { isDocumented });
    expect((await remove(rex.id)).status).toBe(204);
    expectError(await remove(veto.id), 409, 'order_vetoed');
    // A foreign key of the listener itself does not mean that the animal is in use.
    expectError(await remove(broken.id), 500, 'internal_error');
    expect((await entries()).filter((entry) => entry.endsWith('removed'))).toEqual(['Rex: removed']);
    expect((await app.get(`/v1/pets?id=${veto.id}&id=${broken.id}`)).json).toHaveLength(2);
  });

  it.each(['Ignored', 'Unawaited'])(
    'that ignores the error of a statement makes the response 500, because nothing is committed: %s',
    async (name) => {
      expect(await addPet(name)).toMatchObject({ code: 'internal_error' });
      expect(await addPet(name, { 'idempotency-key': name })).toMatchObject({ code: 'internal_error' });
      expect(await app.database.query(`SELECT id FROM pets WHERE name = '${name}'`)).toEqual([]);
      expect(app.log.join('')).toContain('a statement in it has failed and its error was ignored');
    },
  );

  it('runs once for a request with an Idempotency-Key, however often it is retried', async () => {
    const headers = { 'idempotency-key': 'once' };
    await Promise.all([1, 2, 3].map(() => addPet('Milo', headers)));
    await addPet('Milo', headers);
    expect(await entries()).toEqual(['Milo: undefined to available']);
  });

  it('gets no change that did not happen', async () => {
    const { id } = await addPet('Luna');
    await app.post('/v1/store/orders', { petId: id });
    const before = await entries();
    expectError(await app.post('/v1/store/orders', { petId: id }), 409, 'pet_not_available');
    expectError(await app.post('/v1/store/orders', { petId: 999_999 }), 404, 'pet_not_found');
    expect(await entries()).toEqual(before);
  });

  it('sees one change if concurrent requests set the same status', async () => {
    const { id } = await addPet('Kiki');
    const { json: order } = await app.post('/v1/store/orders', { petId: id });
    const path = `/v1/store/orders/${order.id}`;
    const approvals = Array.from({ length: 6 }, () =>
      app.send('PATCH', path, { body: { status: 'approved' } }),
    );
    const statuses = (await Promise.all(approvals)).map(({ status }) => status);
    // The first one approves; the others find the order approved.
    expect(statuses).toEqual(Array(6).fill(200));
    expect((await entries()).filter((entry) => entry.endsWith('placed to approved'))).toHaveLength(1);
  });
});
