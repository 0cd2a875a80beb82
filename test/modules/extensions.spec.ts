import { Module } from '@nestjs/common';
import type { GivenConfig } from '../../src/app/build';
import { PetHolds, PetsModule } from '../../src/pets';
import { defineErrors } from '../../src/platform/errors/define-errors';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { createPatientDatabase } from '../support/patience';
import { journal } from './support/journal.extension';
import { kennels } from './support/kennels.extension';

const isDocumented = false;

describe('an extension', () => {
  let app: TestApp;
  beforeAll(async () => {
    const config: GivenConfig = { kennelPrefix: 'Great-' };
    const database = await createPatientDatabase();
    app = await startApp(config, { extensions: [kennels, journal], database });
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
    expect(responses['409'].description).toBe(
      '- `kennel_closed`: the kennel is closed.\n- `order_vetoed`: a listener rejects the order.',
    );
    expect(document.paths['/pets'].get.responses['429']).toEqual({
      $ref: '#/components/responses/TooManyRequests',
    });
    expect(document.paths['/pets'].get.responses['403'].description).toContain('under_embargo');
  });

  describe('that listens to animals and orders', () => {
    beforeEach(() => app.database.truncate('journal, journal_notes'));

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

    it('gets each change once, also if requests are repeated, and none that did not happen', async () => {
      const headers = { 'idempotency-key': 'once' };
      await Promise.all([1, 2, 3].map(() => addPet('Milo', headers)));
      const { id: petId } = await addPet('Milo', headers);
      const { json: order } = await app.post('/v1/store/orders', { petId });
      expectError(await app.post('/v1/store/orders', { petId }), 409, 'pet_not_available');
      expectError(await app.post('/v1/store/orders', { petId: 999_999 }), 404, 'pet_not_found');
      const approve = () =>
        app.send('PATCH', `/v1/store/orders/${order.id}`, { body: { status: 'approved' } });
      // The first one approves; the others find the order approved.
      const approvals = await Promise.all(Array.from({ length: 6 }, approve));
      expect(approvals.map(({ status }) => status)).toEqual(Array(6).fill(200));
      const by = `order of ${petId} by ${await account()}`;
      expect(await entries()).toEqual([
        'Milo: undefined to available',
        'Milo: available to pending',
        `${by}: undefined to placed`,
        `${by}: placed to approved`,
      ]);
    });
  });
});

const { pet_in_quarantine: inQuarantine } = defineErrors({
  pet_in_quarantine: {
    status: 409,
    when: 'the animal is in quarantine',
    message: 'The animal is in quarantine.',
  },
});

@Module({
  imports: [PetsModule],
  providers: [
    {
      provide: 'quarantine',
      inject: [PetHolds],
      useFactory: (holds: PetHolds) =>
        (['order', 'removal'] as const).forEach((forbids) =>
          holds.add({ forbids, error: inQuarantine, isHeld: async (petId) => petId === 1n }),
        ),
    },
  ],
})
class QuarantineModule {}

it('a hold on orders and removals rejects both with its error, which the document of both has', async () => {
  const app = await startApp({}, { modules: [QuarantineModule] });
  const held = (await app.post('/v1/pets', aNewPet())).json;
  const { id } = (await app.post('/v1/pets', aNewPet())).json;
  const order = (petId: number) => app.post('/v1/store/orders', { petId }, { isDocumented });
  expectError(await order(held.id), 409, 'pet_in_quarantine');
  expectError(await app.send('DELETE', `/v1/pets/${held.id}`, { isDocumented }), 409, 'pet_in_quarantine');
  expect((await app.get(`/v1/pets/${held.id}`)).json).toEqual(held);
  expect((await order(id)).status).toBe(201);
  const { paths } = (await app.get('/openapi.json', { key: undefined })).json;
  const operations = Object.values<any>(paths).flatMap((item) => Object.values<any>(item));
  const having = operations.filter((each) => JSON.stringify(each.responses).includes('pet_in_quarantine'));
  expect(having.map(({ operationId }) => operationId)).toEqual(['deletePet', 'placeOrder']);
  await app.close();
});
