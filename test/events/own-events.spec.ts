import { ApiDocument } from '../../src/testing/api-document';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { linksOf } from '../support/links';
import { createWebhook, startReceiver } from '../webhooks/support/receivers';
import { clinic } from './support/clinic.extension';
import { PATH, readerFromNow, settle } from './support/feed';

const WEIGHINGS = '/v1/clinic/weighings';
const TYPES = Object.keys(clinic.events!);
/** openapi.json has no events of extensions. */
const isDocumented = false;

describe('the events of an extension', () => {
  let app: TestApp;
  let petId: number;
  let account: string;
  let count = 0;
  beforeAll(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as object, { extensions: [clinic] });
  });
  beforeEach(async () => {
    account = `vet ${(count += 1)}`;
    petId = (await app.post('/v1/pets', aNewPet({ categoryId: 3 }))).json.id;
  });
  afterAll(() => app.close());

  const weigh = (body: object = {}, options = {}) =>
    app.post(WEIGHINGS, { petId, weight: 4.5, ...body }, options);
  const keyOf = async (name: string, ...scopes: string[]) =>
    (await app.createKey({ account: name, scopes: ['events:read', 'webhooks:manage', ...scopes] })).key;
  const reader = (key = app.key, query?: string, of = app) => readerFromNow(of, { key, isDocumented }, query);

  it('stand in the feed with those of animals in the order of the changes, with the declared members', async () => {
    const read = await reader();
    const { json: weighed } = await weigh({ remark: '☃ "\\' });
    await app.send('PATCH', `/v1/pets/${petId}`, { body: { name: 'Rex II' } });
    await weigh({ weight: 0, petId });
    const events = await read();
    const types = ['clinic.weighed', 'pet.updated', 'clinic.weighed', 'clinic.warned'];
    expect(events.map(({ type }) => type)).toEqual(types);
    expect(events[0]!.data).toEqual(weighed);
    expect(events.at(-1)!.data).toEqual({ reason: 'light', account: 'vet' });
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
  });

  it('stay in the feed when their class has got another required member', async () => {
    const read = await reader();
    await app.database.query(
      `SELECT record_event(min(account_id), 'clinic.weighed', '{"id":7}') FROM api_keys`,
    );
    expect((await read()).map(({ data }) => data)).toEqual([{ id: 7 }]);
  });

  it('commit with their transaction, and once for an Idempotency-Key', async () => {
    const read = await reader();
    expectError(await weigh({ remark: 'closed' }), 409, 'clinic_closed');
    const headers = { 'idempotency-key': 'a' };
    for (let at = 0; at < 2; at += 1) expect((await weigh({}, { headers })).status).toBe(201);
    expect(await read()).toHaveLength(1);
  });

  it('are seen by keys of their account with the scope, by no other account, also not by staff', async () => {
    const ALL = ['pets:read', 'orders:read', 'clinic:read'];
    const [own, blind] = [await keyOf(account, ...ALL, 'clinic:write'), await keyOf(account, 'pets:read')];
    const staff = await keyOf(`${account} staff`, ...ALL, 'orders:manage');
    const readers = [await reader(own), await reader(blind), await reader(staff)];
    await app.post('/v1/pets', aNewPet());
    await weigh({}, { key: own });
    const seen = [];
    for (const read of readers) seen.push((await read()).map(({ type }) => type));
    expect(seen).toEqual([['pet.created', 'clinic.weighed'], ['pet.created'], ['pet.created']]);
    const asked = await app.get(`${PATH}?type=clinic.weighed`, { key: blind });
    expectError(asked, 403, 'insufficient_scope');
    expect(asked.json.message).toBe('The API key lacks the scope clinic:read.');
    const unknown = await app.get(`${PATH}?type=clinic.fed&limit=0`);
    expectError(unknown, 400, 'validation_failed');
    for (const type of TYPES) expect(unknown.json.message).toContain(type);
    expect(unknown.json.message).toContain('limit');
  });

  it('are sent to webhooks of their account, by type, as the feed has them', async () => {
    const scopes = ['clinic:read', 'clinic:write'];
    const [key, other] = [await keyOf(account, ...scopes), await keyOf(`${account} other`, ...scopes)];
    const receiver = await startReceiver();
    const create = async (by: string, body = {}): Promise<unknown> =>
      (await createWebhook(app, { url: receiver.url, ...body }, { key: by, isDocumented })).types;
    expect([await create(key), await create(other)]).toEqual([TYPES, TYPES]);
    await create(key, { types: ['clinic.warned'] });
    await weigh({ weight: 0.5 }, { key });
    await settle(app);
    await app.runDueWork();
    const sent = receiver.deliveries.map(({ body }) => body).toSorted();
    const { text, json } = await app.get(PATH, { key, isDocumented });
    expect(json.map(({ type }: { type: string }) => type)).toEqual(TYPES);
    // The text of an event begins with its id, and the last one has two webhooks.
    expect([sent.length, `[${[...new Set(sent)].join()}]`]).toEqual([3, text]);
    expect(sent[1]).toBe(sent[2]);
    await receiver.close();
  });

  it('leave webhooks of all events of animals and orders as they were', async () => {
    // Another spec's transaction may hold earlier events back.
    await settle(app);
    const key = await keyOf(account, 'pets:read', 'orders:read');
    const receiver = await startReceiver();
    const { path, types } = await createWebhook(app, { url: receiver.url }, { key, isDocumented });
    expect(types).toBeNull();
    const full = await keyOf(account, 'pets:read', 'orders:read', 'clinic:read', 'clinic:write');
    const change = await app.send('PATCH', path, { key: full, body: { status: 'active' } });
    expect(change.json.types).toBeNull();
    await weigh({}, { key: full });
    await app.send('PATCH', `/v1/pets/${petId}`, { body: { name: 'Rex II' } });
    await settle(app);
    await app.runDueWork();
    expect(receiver.seen()).toEqual(['Rex II']);
    const renewed = await app.send('PATCH', path, { key: full, body: { types: null }, isDocumented });
    expect(renewed.json.types).toHaveLength(7 + TYPES.length);
    await receiver.close();
  });

  it('are variants of Event in the document, which `type` tells apart, and values for agents', async () => {
    const document = await app.get('/openapi.json', { key: undefined });
    await settle(app);
    const { next } = linksOf(await app.get(`${PATH}?from=now`, { isDocumented }));
    await weigh({ weight: 0.25, remark: 'calm' });
    await settle(app);
    const feed = await app.get(next!, { isDocumented });
    expect(feed.json).toHaveLength(2);
    new ApiDocument(document.text).require('GET', PATH, feed);
    const { components } = document.json;
    const { Event, EventType, WeighingEvent, WarningEvent, Warning } = components.schemas;
    expect(EventType.enum.slice(7)).toEqual(TYPES);
    expect(Event.discriminator.propertyName).toBe('type');
    expect(Event.discriminator.mapping['clinic.weighed']).toBe('#/components/schemas/WeighingEvent');
    expect(Event.oneOf).toContainEqual({ $ref: '#/components/schemas/WarningEvent' });
    expect(WeighingEvent.properties.type.enum).toEqual(['clinic.weighed']);
    expect(WarningEvent.properties.data).toEqual({ $ref: '#/components/schemas/Warning' });
    expect(Warning.required).toEqual(['reason', 'account']);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const headers = { accept: 'application/json, text/event-stream' };
    const { tools } = (await app.post('/mcp', body, { headers })).json.result;
    const tool = tools.find(({ name }: { name: string }) => name === 'listEvents');
    expect(tool.inputSchema.properties.type.items.enum.slice(7)).toEqual(TYPES);
  });

  it('are kept after the removal of their extension; a webhook loses them with its next change', async () => {
    const url = 'https://127.0.0.1/own';
    const types = ['pet.created', 'clinic.weighed'];
    const { path } = await createWebhook(app, { url, types }, { isDocumented });
    const without = await startApp({ webhooksAllowPrivate: true } as object, { beside: app });
    const changed = await without.send('PATCH', path, { key: app.key, body: { url }, isDocumented });
    expect(changed.json.types).toEqual(['pet.created']);
    const [before, read] = [await reader(), await reader(app.key, undefined, without)];
    await weigh();
    await app.post('/v1/pets', aNewPet());
    expect((await before()).map(({ type }) => type)).toEqual([TYPES[0], 'pet.created']);
    const asked = await without.get(`${PATH}?type=clinic.weighed`, { key: app.key });
    expectError(asked, 400, 'validation_failed');
    expect((await read()).map(({ type }) => type)).toEqual(['pet.created']);
    await without.close();
    // Requests may name the types of the store that was started last.
    await app.restart();
  });
});
