import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import {
  defineErrors,
  type Extension,
  OrderEvents,
  PetEvents,
  PetsModule,
  Sql,
  StoreOrdersModule,
} from '../../src';
import { PetHolds } from '../../src/pets';
import { migrationOf } from '../database/support/extensions';
import { ApiDocument } from '../../src/testing/api-document';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { createPatientDatabase } from '../support/patience';
import { kennels } from './support/kennels.extension';

const isDocumented = false;

const errors = defineErrors({
  order_vetoed: { status: 409, when: 'a listener rejects the order', message: 'A listener rejects it.' },
  in_quarantine: { status: 409, when: 'the animal is in quarantine', message: 'It is in quarantine.' },
});

/**
 * Writes one entry for each change. By the name of an animal it rejects a change, ignores an error, or forbids its order
 * and removal. It rejects each cancelled order.
 */
@Injectable()
class Journal implements OnModuleInit {
  constructor(
    private readonly orders: OrderEvents,
    private readonly pets: PetEvents,
    private readonly holds: PetHolds,
    private readonly sql: Sql,
  ) {}

  onModuleInit(): void {
    type Transaction = Parameters<Sql['rows']>[2];
    const write = async (entry: string, transaction: Transaction): Promise<void> => {
      await this.sql.rows({ text: 'INSERT INTO journal (entry) VALUES ($1)' }, [entry], transaction);
    };
    this.orders.onMoved(({ order, accountId, previous }, transaction) =>
      write(`order of ${order.petId} by ${accountId}: ${previous} to ${order.status}`, transaction),
    );
    this.orders.onMoved(({ order }) => {
      if (order.status === 'cancelled') throw errors.order_vetoed();
    });
    this.pets.onChanged(({ pet, previous }, transaction) =>
      write(`${pet.name}: ${previous?.status} to ${pet.status}`, transaction),
    );
    this.pets.onRemoved(async ({ name }, transaction) => {
      await write(`${name}: removed`, transaction);
      if (name === 'Veto') throw errors.order_vetoed();
    });
    this.pets.onChanged(async ({ pet: { name } }, transaction) => {
      if (name === 'Veto') throw errors.order_vetoed();
      if (name !== 'Ignored' && name !== 'Unawaited') return;
      const failed = this.sql.rows({ text: 'SELECT 1 / 0' }, [], transaction).catch(() => undefined);
      if (name === 'Ignored') await failed;
    });
    const held = { text: `SELECT FROM pets WHERE id = $1 AND name = 'Held'` };
    for (const forbids of ['order', 'removal'] as const)
      this.holds.add({
        forbids,
        error: errors.in_quarantine,
        isHeld: async (petId, transaction) => (await this.sql.rows(held, [petId], transaction)).length > 0,
      });
  }
}

@Module({ imports: [PetsModule, StoreOrdersModule], providers: [Journal] })
class JournalModule {}

const TABLE = `CREATE TABLE journal (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entry text)`;

const journal: Extension = {
  name: 'journal',
  modules: [JournalModule],
  migrations: [migrationOf('Journal1795300000001', TABLE, 'DROP TABLE journal')],
  errors: [errors.order_vetoed],
};

describe('an extension', () => {
  let app: TestApp;
  beforeAll(async () => {
    const database = await createPatientDatabase();
    app = await startApp({ kennelPrefix: 'Great-' } as object, { extensions: [kennels, journal], database });
  });
  afterAll(() => app.close());

  it('brings tables, routes, scopes, error codes and settings', async () => {
    const path = '/v1/kennels/first';
    expectError(await app.get(path, { isDocumented }), 409, 'kennel_closed');
    await app.database.query(`INSERT INTO kennels VALUES ('North')`);
    expect((await app.get(path, { isDocumented })).json).toEqual({ name: 'Great-North' });
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    expectError(await app.get(path, { key, isDocumented }), 403, 'insufficient_scope');
    const other = await app.createKey({ scopes: ['kennels:read'] });
    expect((await app.get(path, { key: other.key, isDocumented })).status).toBe(200);
  });

  it('brings a guard, which runs after those of the store and before the body is read', async () => {
    const options = { headers: { 'x-embargo': '1' }, isDocumented: false };
    expectError(await app.post('/v1/pets', '{', options), 403, 'under_embargo');
    expectError(await app.post('/v1/pets', '{', { ...options, key: undefined }), 401, 'missing_api_key');
    const { key } = await app.createKey({ scopes: ['pets:read'] });
    expectError(await app.post('/v1/pets', '{', { ...options, key }), 403, 'insufficient_scope');
  });

  it('is in the document below /v1, with its only tag and its codes, and leaves the responses of other operations shared', async () => {
    const { json: document } = await app.get('/openapi.json', { key: undefined });
    expect(document.tags).toContainEqual({ name: 'kennels', description: 'Where animals live.' });
    const { responses, tags } = document.paths['/kennels/first'].get;
    expect(tags).toEqual(['kennels']);
    const api = new ApiDocument(JSON.stringify(document));
    expect(api.follow<any>(responses['409']).description).toBe(
      '- `kennel_closed`: the kennel is closed.\n- `order_vetoed`: a listener rejects the order.',
    );
    expect(api.follow<any>(responses['500']).description).toMatch(
      /^- `kennel_flooded`: .*\n- `internal_error`: /,
    );
    const { 403: forbidden, 429: tooMany } = document.paths['/pets'].get.responses;
    expect(tooMany).toEqual(responses['429']);
    expect(api.follow<any>(forbidden).description).toContain('under_embargo');
  });

  describe('that listens to animals and orders', () => {
    beforeEach(() => app.database.truncate('journal'));

    const entries = async () => {
      const rows = await app.database.query<{ entry: string }>('SELECT entry FROM journal ORDER BY id');
      return rows.map(({ entry }) => entry);
    };
    const addPet = async (name: string, headers = {}) =>
      (await app.post('/v1/pets', { name, categoryId: 1 }, { headers, isDocumented })).json;
    it('gets each change that happened once, with the state before, and its rows commit with the change', async () => {
      const headers = { 'idempotency-key': 'once' };
      // One that comes while the first one runs is 409.
      const added = await Promise.all([1, 2, 3].map(() => addPet('Rex', headers)));
      const { id } = added.find((each) => each.id !== undefined);
      const { json: order } = await app.post('/v1/store/orders', { petId: id });
      expectError(await app.post('/v1/store/orders', { petId: id }), 409, 'pet_not_available');
      const move = async (status: string) =>
        (await app.send('PATCH', `/v1/store/orders/${order.id}`, { body: { status } })).status;
      // The first one approves; the others find the order approved.
      const moves = ['approved', 'approved', 'approved'].map(move);
      expect([...(await Promise.all(moves)), await move('delivered')]).toEqual([200, 200, 200, 200]);
      // A change of the animal itself, after its order is final.
      const change = { body: { name: 'Max', status: 'available' } };
      // The second one changes nothing.
      for (let time = 0; time < 2; time += 1) await app.send('PATCH', `/v1/pets/${id}`, change);
      const [account] = await app.database.query<{ id: string }>('SELECT min(id) AS id FROM accounts');
      const by = `order of ${id} by ${account!.id}`;
      expect(await entries()).toEqual([
        'Rex: undefined to available',
        'Rex: available to pending',
        `${by}: undefined to placed`,
        `${by}: placed to approved`,
        'Rex: pending to sold',
        `${by}: approved to delivered`,
        'Max: sold to available',
      ]);
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
      const [rex, veto] = await Promise.all(['Rex', 'Bella'].map((name) => addPet(name)));
      // As `Veto` it could not be created.
      await app.database.query(`UPDATE pets SET name = 'Veto' WHERE id = ${veto.id}`);
      const remove = (id: number) => app.send('DELETE', `/v1/pets/${id}`, { isDocumented });
      expect((await remove(rex.id)).status).toBe(204);
      expectError(await remove(veto.id), 409, 'order_vetoed');
      expect((await entries()).filter((entry) => entry.endsWith('removed'))).toEqual(['Rex: removed']);
      expect((await app.get(`/v1/pets?id=${veto.id}`)).json).toHaveLength(1);
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
  });

  it('holds an animal: its order and removal get the error of the hold, which the document of both has', async () => {
    const add = async (name: string) => (await app.post('/v1/pets', { name, categoryId: 1 })).json;
    const [held, free] = [await add('Held'), await add('Free')];
    const order = (petId: number) => app.post('/v1/store/orders', { petId }, { isDocumented });
    expectError(await order(held.id), 409, 'in_quarantine');
    expectError(await app.send('DELETE', `/v1/pets/${held.id}`, { isDocumented }), 409, 'in_quarantine');
    expect((await app.get(`/v1/pets/${held.id}`)).json).toEqual(held);
    expect((await order(free.id)).status).toBe(201);
    const api = new ApiDocument((await app.get('/openapi.json', { key: undefined })).text);
    const having = api.operations.filter(
      ({ responses: { 409: conflict } }) =>
        conflict && api.follow<any>(conflict).description.includes('in_quarantine'),
    );
    expect(new Set(having.map(({ operationId }) => operationId))).toEqual(
      new Set(['deletePet', 'placeOrder']),
    );
  });
});
