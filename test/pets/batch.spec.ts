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

  it('400 names each invalid item by its index, and creates none', async () => {
    const sent = items(MANY).map((item, at) => (at === 7 ? { ...item, name: '', status: 'lost' } : item));
    sent[99] = { name: 'Rex' };
    const rejected = await add(sent);
    expectError(rejected, 400, 'validation_failed');
    expect(rejected.json.message).toMatch(
      /^items\.7\.name must be [^;]*; items\.7\.status must be [^;]*; items\.99\.categoryId is missing\.$/,
    );
    expect(await countPets()).toBe(0);
  });

  it('400 names an item that is not an object by its index', async () => {
    const { json } = await add([...items(1), null, 5, {}]);
    expect(json.message).toMatch(
      /items\.1 must be a JSON object; items\.2 must be a JSON object; items\.3\.name .*; items\.3\.categoryId /,
    );
  });

  it('400 names an unknown member of an item with handling=strict', async () => {
    const options = { headers: { prefer: 'handling=strict' } };
    const strict = await app.post(PATH, { items: [{ ...aNewPet(), id: 7 }] }, options);
    expectError(strict, 400, 'validation_failed');
    expect(strict.json.message).toContain('items.0.id');
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
