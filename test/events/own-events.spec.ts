import { ApiDocument } from '../../src/testing/api-document';
import { Conformance } from '../../src/testing/conformance';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { createWebhook, received, startReceiver, verified } from '../webhooks/support/receivers';
import { clinic } from './support/clinic.extension';
import { PATH, readerOf, settle } from './support/feed';

const WEIGHINGS = '/v1/clinic/weighings';
const TYPES = Object.keys(clinic.events!);
/** openapi.json has no events of extensions. */
const isDocumented = false;

describe('the events of an extension', () => {
  let app: TestApp;
  let petId: number;
  beforeEach(async () => {
    app = await startApp({ webhooksAllowPrivate: true } as object, { extensions: [clinic] });
    petId = (await app.post('/v1/pets', aNewPet({ categoryId: 3 }))).json.id;
  });
  afterEach(() => app.close());

  const weigh = (body: object = {}, options = {}) =>
    app.post(WEIGHINGS, { petId, weight: 4.5, ...body }, options);
  const keyOf = async (account: string, ...scopes: string[]) =>
    (await app.createKey({ account, scopes: ['events:read', 'webhooks:manage', ...scopes] })).key;

  it('stand in the feed with those of animals in the order of the changes, with the declared members', async () => {
    const read = readerOf(app, { key: app.key, isDocumented });
    const { json: weighed } = await weigh({ remark: '☃ "\\', times: 3 });
    await app.send('PATCH', `/v1/pets/${petId}`, { body: { name: 'Rex II' } });
    await weigh({ weight: 0, petId });
    const events = await read();
    expect(events.map(({ type }) => type)).toEqual([
      'pet.created',
      'clinic.weighed',
      'clinic.weighed',
      'clinic.weighed',
      'pet.updated',
      'clinic.weighed',
      'clinic.warned',
    ]);
    expect(events.slice(1, 4).map(({ data }) => data)).toEqual([weighed, weighed, weighed]);
    expect(events.at(-1)!.data).toEqual({ reason: 'light', account: 'vet' });
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
  });

  it('stay in the feed when their class has got another required member', async () => {
    const [account] = await app.database.query<{ id: string }>(
      'SELECT account_id AS id FROM api_keys LIMIT 1',
    );
    await app.database.query(`SELECT record_event($1, 'clinic.weighed', '{"id":7}')`, [account?.id]);
    const events = await readerOf(app, { key: app.key, isDocumented }, 'type=clinic.weighed')();
    expect(events.map(({ data }) => data)).toEqual([{ id: 7 }]);
  });

  it('commit with their transaction, and once for an Idempotency-Key', async () => {
    expectError(await weigh({ remark: 'closed' }), 409, 'clinic_closed');
    const headers = { 'idempotency-key': 'a' };
    for (let at = 0; at < 2; at += 1) expect((await weigh({}, { headers })).status).toBe(201);
    expect(await readerOf(app, { key: app.key, isDocumented }, 'type=clinic.weighed')()).toHaveLength(1);
  });

  it('fail with their transaction if a number is not finite, which JSON does not have', async () => {
    expectError(await weigh({ remark: 'endless' }), 500, 'internal_error');
    expect(await readerOf(app, { key: app.key, isDocumented }, 'type=clinic.weighed')()).toEqual([]);
  });

  it('are seen by keys of their account with the scope, by no other account, also not by staff', async () => {
    const ALL = ['pets:read', 'orders:read', 'clinic:read'];
    const [own, blind] = [await keyOf('vet', ...ALL, 'clinic:write'), await keyOf('vet', 'pets:read')];
    const staff = await keyOf('staff', ...ALL, 'orders:manage');
    await weigh({}, { key: own });
    const seen = async (key: string) =>
      (await readerOf(app, { key, isDocumented })()).map(({ type }) => type);
    expect(await seen(own)).toEqual(['pet.created', 'clinic.weighed']);
    expect([await seen(blind), await seen(staff)]).toEqual([['pet.created'], ['pet.created']]);
    const asked = await app.get(`${PATH}?type=clinic.weighed`, { key: blind });
    expectError(asked, 403, 'insufficient_scope');
    expect(asked.json.message).toBe('The API key lacks the scope clinic:read.');
    const unknown = await app.get(`${PATH}?type=clinic.fed&limit=0`);
    expectError(unknown, 400, 'validation_failed');
    for (const type of TYPES) expect(unknown.json.message).toContain(type);
    expect(unknown.json.message).toContain('limit');
  });

  it('are sent to webhooks of their account, by type, as the feed has them', async () => {
    const [key, other] = [await keyOf('vet', 'clinic:read', 'clinic:write'), await keyOf('x', 'clinic:read')];
    const receiver = await startReceiver();
    const all = await createWebhook(app, { url: receiver.url }, { key, isDocumented });
    expect(all.types).toEqual(TYPES);
    await createWebhook(app, { url: receiver.url }, { key: other, isDocumented });
    const { secret } = await createWebhook(
      app,
      { url: `${receiver.url}&some`, types: ['clinic.warned'] },
      { key, isDocumented },
    );
    await weigh({ weight: 0.5 }, { key });
    await settle(app);
    await received(app, receiver, 3);
    await settle(app);
    const sent = receiver.deliveries.map(({ body }) => body);
    const types = sent.map((body): string => JSON.parse(body).type);
    expect(types.filter((type) => type === 'clinic.warned')).toHaveLength(2);
    expect(types).toHaveLength(3);
    const { text } = await app.get(PATH, { key, isDocumented });
    // Each webhook has its own order. The text of an event begins with its id.
    expect(text).toBe(`[${[...new Set(sent)].toSorted().join()}]`);
    const valid = receiver.deliveries.flatMap((each) => {
      try {
        return verified(app, secret, each).data;
      } catch {
        return [];
      }
    });
    expect(valid).toEqual([{ reason: 'light', account: 'vet' }]);
    await receiver.close();
  });

  it('leave webhooks of all events of animals and orders as they were', async () => {
    // Another spec's transaction may hold earlier events back.
    await settle(app);
    const key = await keyOf('vet', 'pets:read', 'orders:read');
    const receiver = await startReceiver();
    const { path, types } = await createWebhook(app, { url: receiver.url }, { key, isDocumented });
    expect(types).toBeNull();
    const full = await keyOf('vet', 'pets:read', 'orders:read', 'clinic:read', 'clinic:write');
    const change = await app.send('PATCH', path, { key: full, body: { status: 'active' } });
    expect(change.json.types).toBeNull();
    await weigh({}, { key: full });
    await app.send('PATCH', `/v1/pets/${petId}`, { body: { name: 'Rex II' } });
    await settle(app);
    await received(app, receiver, 1);
    expect(receiver.seen()).toEqual(['Rex II']);
    const renewed = await app.send('PATCH', path, { key: full, body: { types: null }, isDocumented });
    expect(renewed.json.types).toHaveLength(7 + TYPES.length);
    await receiver.close();
  });

  it('are variants of Event in the document, which `type` tells apart, and values for agents', async () => {
    const document = await app.get('/openapi.json', { key: undefined });
    await weigh({ weight: 0.25, remark: 'calm' });
    await settle(app);
    const feed = await app.get(PATH, { isDocumented });
    expect(feed.json).toHaveLength(3);
    new Conformance(new ApiDocument(document.text)).require('GET', PATH, feed);
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

  it('leave a webhook that gets another URL from an instance without the extension, which cannot check the key', async () => {
    const url = 'https://127.0.0.1/own';
    const { path } = await createWebhook(
      app,
      { url, types: ['pet.created', 'clinic.weighed'] },
      { isDocumented },
    );
    const without = await startApp({ webhooksAllowPrivate: true } as object, { beside: app });
    const typesAfter = async (body: object): Promise<unknown> =>
      (await without.send('PATCH', path, { key: app.key, body, isDocumented })).json.types;
    expect(await typesAfter({ url })).toEqual(['pet.created', 'clinic.weighed']);
    expect(await typesAfter({ url: 'https://127.0.0.1/other' })).toEqual(['pet.created']);
    await without.close();
  });

  it('are kept from before the extension was removed', async () => {
    await weigh();
    await settle(app);
    expect(await app.database.query("SELECT FROM events WHERE type = 'clinic.weighed'")).toHaveLength(1);
    const without = await startApp({}, { beside: app });
    const asked = await without.get(`${PATH}?type=clinic.weighed`, { key: app.key });
    expectError(asked, 400, 'validation_failed');
    expect((await readerOf(without, { key: app.key })()).map(({ type }) => type)).not.toContain(TYPES[0]);
    await without.close();
  });
});
