import { PetEvents } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';

const PATH = '/v1/pets/batch';
const MANY = 100;

describe('POST /v1/pets/batch (createPets)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  beforeEach(() => app.database.truncate('pets CASCADE'));
  afterAll(() => app.close());

  const countPets = async () => (await app.database.query('SELECT FROM pets')).length;
  const items = (count: number) =>
    Array.from({ length: count }, (_, at) => aNewPet({ name: `"${at}" \\ {NULL}, 🐈`, categoryId: at }));
  const add = (list: readonly unknown[]) => app.post(PATH, { items: list });

  it('201 returns 100 animals in the order of the items, with ascending ids, from one transaction and one request', async () => {
    const { key } = await app.createKey();
    const sent = items(MANY).toReversed();
    const { status, json, headers } = await app.post(PATH, { items: sent }, { key });
    expect(status).toBe(201);
    const ids = json.map(({ id }: { id: number }) => id);
    expect(json).toEqual(sent.map((item, at) => ({ id: ids[at], ...item, status: 'available' })));
    expect(ids).toEqual(ids.toSorted((one: number, other: number) => one - other));
    expect((await app.get(`/v1/pets?limit=100`)).json).toEqual(json);
    const [row] = await app.database.query('SELECT count(DISTINCT xmin::text) FROM pets');
    expect(row).toEqual({ count: '1' });
    expect(Number(headers['x-ratelimit-limit']) - Number(headers['x-ratelimit-remaining'])).toBe(1);
  });

  // The last one, because listeners stay.
  it('tells listeners of each animal in its order, inside the transaction: an error of one keeps all from being created', async () => {
    const told: string[] = [];
    app.nest.get(PetEvents, { strict: false }).onChanged(({ pet, previous }) => {
      if (pet.name === 'bad') throw new Error('no');
      told.push(`${pet.id} ${previous?.name ?? 'new'}`);
    });
    const { json } = await add(items(3));
    expect(told).toEqual(json.map(({ id }: { id: number }) => `${id} new`));
    expectError(await add([...items(3), aNewPet({ name: 'bad' })]), 500, 'internal_error');
    expect(await countPets()).toBe(3);
  });
});
