import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { createWebhook, PATH } from './support/receivers';

const URL = 'https://shop.example/webhooks';

describe('webhooks', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp();
  });
  beforeEach(async () => {
    ({ key } = await app.createKey());
  });
  afterAll(() => app.close());

  const create = (body: object = { url: URL }) => createWebhook(app, body, { key });
  const update = (path: string, body: object, headers = {}) =>
    app.send('PATCH', path, { key, body, headers });

  it('are created with a secret, which later responses do not have', async () => {
    const response = await app.post(PATH, { url: URL, types: ['pet.created'] }, { key });
    const { secret, ...webhook } = response.json;
    expect(response.status).toBe(201);
    expect(response.headers.location).toBe(`${PATH}/${webhook.id}`);
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    const at = new Date(app.clock.now()).toISOString();
    const state = {
      status: 'active',
      createdAt: at,
      updatedAt: at,
      lastDeliveryAt: null,
      lastError: null,
      waitingSince: null,
      nextAttemptAt: null,
    };
    expect(webhook).toEqual({ id: webhook.id, url: URL, types: ['pet.created'], ...state });
    expect((await app.get(`${PATH}/${webhook.id}`, { key })).json).toEqual(webhook);
    expect((await app.get(PATH, { key })).json).toEqual([webhook]);
  });

  it.each([
    'GET ',
    'PATCH ',
    'DELETE ',
    'POST /test',
    'POST /rotate',
    'GET /deliveries',
    'POST /deliveries/0/resend',
  ])('are those of the account: %s of another is 404', async (request) => {
    const { path } = await create();
    const other = await app.createKey({ scopes: ['webhooks:manage'] });
    const [method, end] = request.split(' ') as [string, string];
    const body = method === 'PATCH' ? { status: 'disabled' } : undefined;
    expectError(await app.send(method, path + end, { key: other.key, body }), 404, 'webhook_not_found');
    expect((await app.get(PATH, { key: other.key })).json).toEqual([]);
    expect((await app.get(path, { key })).json.status).toBe('active');
  });

  it('are at most ten for an account, also if they are created concurrently', async () => {
    const responses = await Promise.all(
      Array.from({ length: 15 }, () => app.post(PATH, { url: URL }, { key })),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
    const rejected = responses.filter(({ status }) => status !== 201);
    for (const each of rejected) expectError(each, 409, 'too_many_webhooks');
    expect((await app.get(`${PATH}?sort=-id&limit=100`, { key })).json).toHaveLength(10);
  });

  it('are changed and removed only if they are as the client has seen them', async () => {
    const { path } = await create();
    const { headers } = await app.get(path, { key });
    const condition = { 'if-match': String(headers['etag']) };
    const changed = await update(path, { types: ['order.placed'], status: 'disabled' }, condition);
    expect(changed.json).toMatchObject({ url: URL, types: ['order.placed'], status: 'disabled' });
    expectError(await update(path, { status: 'active' }, condition), 412, 'precondition_failed');
    expectError(await app.send('DELETE', path, { key, headers: condition }), 412, 'precondition_failed');
    expect((await update(path, { types: null, status: 'active' })).json).toMatchObject({
      types: null,
      status: 'active',
    });
    expectError(await update(path, {}), 400, 'validation_failed');
    expect((await app.send('DELETE', path, { key })).status).toBe(204);
    expectError(await app.get(path, { key }), 404, 'webhook_not_found');
  });
});
