import { Client } from 'pg';
import { createStore, DEFAULT_SCOPES } from '../../src/app/store';
import { seedPets } from '../../src/cli/seed.repository';
import { readConfig } from '../../src/config/config';
import { startApp, type TestApp } from '../support/app';
import { followDatabase } from '../support/clock';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { RequestOptions } from '../support/http';
import { linksOf } from '../support/links';
import { PATH, readerFromNow, readerOf, settle } from './support/feed';

const ORDERS = '/v1/store/orders';
const PETS = ['pet.created', 'pet.updated'];

describe('GET /v1/events (listEvents)', () => {
  let app: TestApp;
  const update = (path: string, body: object, options: RequestOptions = {}) =>
    app.send('PATCH', path, { body, ...options });

  beforeAll(async () => {
    // The clock moves by days.
    app = await startApp({ orderExpiresAfterHours: 0 } as object);
  });
  afterAll(() => app.close());

  const position = async (query = '') => {
    await settle(app);
    return linksOf(await app.get(`${PATH}?from=now${query}`))['next']!;
  };

  it('has each change of an animal and of an order in its order, with the body of the response', async () => {
    const read = await readerFromNow(app);
    const pet = (await app.post('/v1/pets', aNewPet({ categoryId: 3 }))).json;
    const renamed = (await update(`/v1/pets/${pet.id}`, { name: '☃ "\\ Rex' })).json;
    await update(`/v1/pets/${pet.id}`, { name: renamed.name });
    const buyer = await app.createKey();
    const placed = (await app.post(ORDERS, { petId: pet.id }, { key: buyer.key })).json;
    const steps = [];
    for (const status of ['approved', 'delivered']) {
      app.clock.advance({ seconds: 1 });
      steps.push((await update(`${ORDERS}/${placed.id}`, { status })).json);
    }
    await app.send('DELETE', `/v1/pets/${pet.id}`);
    const { account } = steps[0];
    const events = await read();
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['pet.created', pet],
      ['pet.updated', renamed],
      ['pet.updated', { ...renamed, status: 'pending' }],
      ['order.placed', { ...placed, account }],
      ['order.approved', steps[0]],
      ['order.delivered', steps[1]],
      ['pet.updated', { ...renamed, status: 'sold' }],
      ['pet.deleted', { ...renamed, status: 'sold' }],
    ]);
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    expect(new Set(ids).size).toBe(ids.length);
    expect(await read()).toEqual([]);
  });

  it('shows a key the orders of its account; with orders:manage those of every account', async () => {
    const buyers = [await app.createKey(), await app.createKey()];
    const { key } = await app.createKey({ scopes: ['events:read', ...DEFAULT_SCOPES] });
    const readers = [
      await readerFromNow(app, {}, 'type=order.placed'),
      await readerFromNow(app, { key }, 'type=order.placed'),
      await readerFromNow(app, { key }, 'limit=1'),
    ];
    for (const buyer of buyers) {
      const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
      await app.post(ORDERS, { petId }, { key: buyer.key });
    }
    const counts = [];
    for (const read of readers) counts.push((await read()).length);
    expect(counts).toEqual([2, 0, 4]);
  });

  it.each([
    ['pets:read', PETS, 'orders:read orders:manage'],
    ['orders:read', [], 'pets:read'],
    ['orders:manage', ['order.placed'], 'pets:read'],
    ['events:read', [], 'pets:read'],
  ])('has only the types that a key may read: with %s %j', async (scope, visible, needed) => {
    const { key } = await app.createKey({ scopes: ['events:read', scope] });
    const types = visible.map((type) => `type=${type}`).join('&');
    const [all, named] = [await readerFromNow(app, { key }), await readerFromNow(app, { key }, types)];
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.post(ORDERS, { petId });
    expect((await all()).map(({ type }) => type)).toEqual(visible);
    expect(await named()).toHaveLength(visible.length);
    const hidden = needed === 'pets:read' ? 'pet.deleted' : 'order.placed';
    const response = await app.get(`${PATH}?type=${hidden}`, { key });
    expectError(response, 403, 'insufficient_scope');
    expect(response.headers['www-authenticate']).toContain(`scope="${needed}"`);
  });

  it('starts with `from=now` at an empty page, before which it reads nothing and after which it skips nothing', async () => {
    await app.post('/v1/pets', aNewPet({ name: 'before' }));
    const slow = new Client({ connectionString: app.database.directUrl });
    await slow.connect();
    let next: string;
    try {
      await settle(app);
      await slow.query(`BEGIN; INSERT INTO pets (name, category_id, status) VALUES ('slow', 1, 'sold')`);
      await app.post('/v1/pets', aNewPet({ name: 'hidden' }));
      const start = await app.get(`${PATH}?from=now&limit=1&type=pet.created`);
      const links = linksOf(start);
      expect([start.text, Object.values(links).join().includes('from')]).toEqual(['[]', false]);
      expect(links['first']).toMatch(/\?limit=1&type=pet\.created$/);
      await slow.query('COMMIT');
      next = links['next']!;
    } finally {
      // Else a failure here would keep the events of later specs back for ever.
      await slow.end();
    }
    const events = await readerOf(app, {}, next.split('?')[1])();
    expect(events.map(({ data }) => data['name'])).toEqual(['slow', 'hidden']);
  });

  it('returns 400 to two starts, and to one that is not valid', async () => {
    const [, cursor] = /(cursor=.*)/.exec(await position())!;
    const response = await app.get(`${PATH}?from=now&${cursor}`);
    expectError(response, 400, 'validation_failed');
    expect(response.json.message).toBe('Only one of cursor and from may be given.');
    for (const start of ['from=today', 'from=', 'from=now&from=now'])
      expectError(await app.get(`${PATH}?${start}`), 400, 'validation_failed');
  });

  // After a crash PostgreSQL uses the numbers of transactions that have committed nothing again.
  it('continues from an event while other transactions run', async () => {
    await app.post('/v1/pets', aNewPet());
    const next = await position('&type=order.placed');
    for (let count = 0; count < 3; count += 1) await app.database.query('SELECT pg_current_xact_id()');
    expect(await position('&type=order.placed')).toBe(next);
    expect(linksOf(await app.get(next))['next']).toBe(next);
  });

  it('returns 410 to a cursor whose next events were deleted after EVENTS_RETENTION_DAYS', async () => {
    // The database itself knows when an event was written.
    await followDatabase(app);
    const early = await position();
    await app.post('/v1/pets', aNewPet());
    const late = await position();
    await app.runDueWork();
    expect((await app.get(early)).json).toHaveLength(1);
    await app.database.query(`UPDATE events SET created_at = created_at - interval '31 days'`);
    await app.runDueWork();
    expectError(await app.get(early), 410, 'cursor_expired');
    expect((await app.get(late)).json).toEqual([]);
    expect((await app.get(await position())).status).toBe(200);
  });

  it('has no events of seed', async () => {
    const read = await readerFromNow(app);
    await app.post('/v1/pets', aNewPet());
    await seedPets(app.database.directUrl, 3, '1', () => undefined);
    expect(await read()).toHaveLength(1);
  });

  it('keeps events for 4 days at least', () => {
    const read = (days: string) => readConfig({ EVENTS_RETENTION_DAYS: days }, createStore().settings);
    expect(read('4')).toMatchObject({ eventsRetentionDays: 4 });
    expect(() => read('3')).toThrow('EVENTS_RETENTION_DAYS must be a whole number from 4 to 365, not "3".');
  });

  it('returns 410 to a cursor of an event that the restored database lacks, whose cluster continues with higher ids', async () => {
    const read = await readerFromNow(app);
    await app.post('/v1/pets', aNewPet());
    const kept = await position();
    const [first] = await read();
    await app.post('/v1/pets', aNewPet());
    const lost = await position();
    await app.database.query('DELETE FROM events WHERE id = (SELECT max(id) FROM events)');
    await app.database.query(`UPDATE event_log SET cluster = 'another', shift = shift - 1000`);
    await app.restart();
    expect((await app.get(kept)).json).toEqual([]);
    expectError(await app.get(lost), 410, 'cursor_expired');
    await app.post('/v1/pets', aNewPet());
    const [second, ...others] = await read();
    expect([second!.id > first!.id, others]).toEqual([true, []]);
    expectError(await app.get(lost), 410, 'cursor_expired');
  });

  it('responds 304 while nothing has happened, with the next page', async () => {
    const path = await position();
    const first = await app.get(path);
    const headers = { 'if-none-match': String(first.headers.etag) };
    const again = await app.get(path, { headers });
    expect(again.status).toBe(304);
    expect(linksOf(again)['next']).toMatch(/cursor=/);
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    expect((await app.get(path, { headers })).status).toBe(200);
  });
});
