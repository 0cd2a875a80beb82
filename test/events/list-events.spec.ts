import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStore, DEFAULT_SCOPES } from '../../src/app/store';
import { seedPets } from '../../src/cli/seed.repository';
import { EventsService } from '../../src/events/events.service';
import { readConfig } from '../../src/platform/config/config';
import { readCommittedDocument } from '../support/committed-document';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import type { RequestOptions } from '../support/http';
import { linksOf } from '../support/links';
import { PATH, readerOf, settle } from './support/feed';

const DAY_SECONDS = 86_400;
const ORDERS = '/v1/store/orders';
const PETS = ['pet.created', 'pet.updated'];

describe('GET /v1/events (listEvents)', () => {
  let app: TestApp;
  const removeOld = () => app.nest.get(EventsService, { strict: false }).run();
  const update = (path: string, body: object, options: RequestOptions = {}) =>
    app.send('PATCH', path, { body, ...options });

  beforeEach(async () => {
    app = await startApp();
  });
  afterEach(() => app.close());

  it('has each change of an animal and of an order in its order, with the body of the response', async () => {
    const read = readerOf(app);
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

  it('has every member of Pet, as every response and file has it', async () => {
    const { name, ...example } = JSON.parse(readCommittedDocument()).components.schemas.Pet.example;
    const sent = { ...example, id: undefined, name, status: 'sold' };
    const path = `/v1/pets/${(await app.post('/v1/pets', aNewPet())).json.id}`;
    const responses = [await update(path, sent), await app.post('/v1/pets', sent), await app.get(path)];
    responses.push(await app.post('/v1/pets/batch', { items: [sent] }));
    const file = join(tmpdir(), `members-${process.pid}.csv`);
    const run = (command: string) => runCli(['pets', command, file], { DATABASE_URL: app.database.url });
    await run('export');
    // A store with animals gives new ids.
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^[^,]*,/gm, ''));
    await run('import');
    rmSync(file);
    for (const query of ['?limit=20', `/search?q=${name}`, `/search?q=${name}&categoryId=${sent.categoryId}`])
      responses.push(await app.get(`/v1/pets${query}`));
    const [, ...events] = (await readerOf(app)()).map(({ data }) => data);
    const pets = [...responses.flatMap(({ json }) => json), ...events];
    expect(pets.map((pet) => ({ ...pet, id: undefined }))).toEqual(Array.from({ length: 28 }, () => sent));
  });

  it('keeps int64 exactly', async () => {
    await app.post('/v1/pets', '{"name":"Rex","categoryId":9007199254740993}');
    await settle(app);
    expect((await app.get(PATH)).text).toContain('"categoryId":9007199254740993');
  });

  it('shows a key the orders of its account; with orders:manage those of every account', async () => {
    const buyers = [await app.createKey(), await app.createKey()];
    for (const { key } of buyers) {
      const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
      await app.post(ORDERS, { petId }, { key });
    }
    const reader = await app.createKey({ scopes: ['events:read', ...DEFAULT_SCOPES] });
    const orders = async (key?: string, query = 'type=order.placed') =>
      (await readerOf(app, key === undefined ? {} : { key }, query)()).map(({ data }) => data['id']);
    expect(await orders()).toHaveLength(2);
    expect(await orders(reader.key)).toEqual([]);
    expect(await orders(reader.key, 'limit=1')).toHaveLength(4);
  });

  it.each([
    ['pets:read', PETS, 'orders:read orders:manage'],
    ['orders:read', [], 'pets:read'],
    ['orders:manage', ['order.placed'], 'pets:read'],
    ['events:read', [], 'pets:read'],
  ])('has only the types that a key may read: with %s %j', async (scope, visible, needed) => {
    const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
    await app.post(ORDERS, { petId });
    const { key } = await app.createKey({ scopes: ['events:read', scope] });
    expect((await readerOf(app, { key })()).map(({ type }) => type)).toEqual(visible);
    const hidden = needed === 'pets:read' ? 'pet.deleted' : 'order.placed';
    const response = await app.get(`${PATH}?type=${hidden}`, { key });
    expectError(response, 403, 'insufficient_scope');
    expect(response.headers['www-authenticate']).toContain(`scope="${needed}"`);
    const types = visible.map((type) => `type=${type}`).join('&');
    expect((await app.get(`${PATH}?${types}`, { key })).json).toHaveLength(visible.length);
  });

  it('filters by type, repeated', async () => {
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    await update(`/v1/pets/${id}`, { status: 'sold' });
    await app.send('DELETE', `/v1/pets/${id}`);
    const types = async (query: string) => (await readerOf(app, {}, query)()).map(({ type }) => type);
    expect(await types('type=pet.updated')).toEqual(['pet.updated']);
    expect(await types('type=pet.deleted&type=pet.created&limit=1')).toEqual(['pet.created', 'pet.deleted']);
    expectError(await app.get(`${PATH}?type=pet`), 400, 'validation_failed');
    const { next } = linksOf(await app.get(`${PATH}?type=pet.created`));
    expectError(await app.get(next!.replace('pet.created', 'pet.deleted')), 400, 'invalid_cursor');
  });

  // After a crash PostgreSQL uses the numbers of transactions that have committed nothing again.
  it('continues from an event while other transactions run', async () => {
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    const { next } = linksOf(await app.get(`${PATH}?type=order.placed`));
    for (let count = 0; count < 3; count += 1) await app.database.query('SELECT pg_current_xact_id()');
    await settle(app);
    expect(linksOf(await app.get(`${PATH}?type=order.placed`))['next']).toBe(next);
    const later = linksOf(await app.get(next!))['next'];
    expect(later).toBe(next);
  });

  it('returns 410 to a cursor whose next events were deleted after EVENTS_RETENTION_DAYS', async () => {
    // The database itself knows when an event was written.
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
    const { next: early } = linksOf(await app.get(PATH));
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    const { next: late } = linksOf(await app.get(PATH));
    await removeOld();
    expect((await app.get(early!)).json).toHaveLength(1);
    await app.database.query(`UPDATE events SET created_at = created_at - interval '20 days'`);
    await removeOld();
    expectError(await app.get(early!), 410, 'cursor_expired');
    expect((await app.get(late!)).json).toEqual([]);
    const { next } = linksOf(await app.get(PATH));
    expect((await app.get(next!)).status).toBe(200);
  });

  it('has no events of seed', async () => {
    await app.post('/v1/pets', aNewPet());
    await seedPets(app.database.directUrl, 3, '1', () => undefined);
    expect(await readerOf(app)()).toHaveLength(1);
  });

  it('removes events after EVENTS_RETENTION_DAYS, at least 4, and the start rejects a lower value in one sentence', () => {
    const { settings } = createStore();
    expect(readConfig({ EVENTS_RETENTION_DAYS: '4' }, settings)).toMatchObject({ eventsRetentionDays: 4 });
    for (const days of ['0', '3'])
      expect(() => readConfig({ EVENTS_RETENTION_DAYS: days }, settings)).toThrow(
        `Invalid settings: EVENTS_RETENTION_DAYS must be a whole number from 4 to 365, not "${days}". Fix them and start again.`,
      );
  });

  it('removes old events after the start, which does not wait for it', async () => {
    const { next } = linksOf(await app.get(PATH));
    await app.post('/v1/pets', aNewPet());
    const old = new Date(app.clock.now() - 20_000 * DAY_SECONDS);
    await app.database.query('UPDATE events SET created_at = $1', [old]);
    await app.restart();
    expect((await app.get(next!)).status).toBe(200);
    await removeOld();
    expectError(await app.get(next!), 410, 'cursor_expired');
  });

  it('returns 410 to a cursor of an event that the restored database lacks', async () => {
    const read = readerOf(app);
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    const { next: kept } = linksOf(await app.get(PATH));
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    const { next: lost } = linksOf(await app.get(PATH));
    await app.database.query('DELETE FROM events WHERE id = (SELECT max(id) FROM events)');
    await app.database.query(`UPDATE event_log SET cluster = 'another'`);
    await app.restart();
    expect((await app.get(kept!)).json).toEqual([]);
    expectError(await app.get(lost!), 410, 'cursor_expired');
    await app.post('/v1/pets', aNewPet());
    expect(await read()).toHaveLength(2);
    expectError(await app.get(lost!), 410, 'cursor_expired');
  });

  it('continues with higher ids in a database of another cluster', async () => {
    await app.post('/v1/pets', aNewPet());
    const read = readerOf(app);
    const [first] = await read();
    await app.database.query('UPDATE event_log SET cluster = 1, shift = shift - 1000');
    await app.restart();
    await app.post('/v1/pets', aNewPet());
    const [second] = await read();
    expect(second!.id).toBeGreaterThan(first!.id);
  });

  it('responds 304 while nothing has happened, with the next page', async () => {
    const first = await app.get(PATH);
    const headers = { 'if-none-match': String(first.headers.etag) };
    const again = await app.get(PATH, { headers });
    expect(again.status).toBe(304);
    expect(linksOf(again)['next']).toMatch(/cursor=/);
    await app.post('/v1/pets', aNewPet());
    await settle(app);
    expect((await app.get(PATH, { headers })).status).toBe(200);
  });
});
