import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

describe('keys over HTTP', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    app.clock.advance({ seconds: (Date.now() - app.clock.now()) / 1_000 });
  });
  afterAll(() => app.close());

  const patch = (path: string, body: object, options = {}) => app.send('PATCH', path, { body, ...options });
  /** Creates an account and a key. */
  async function newKey(body: object = {}) {
    const { name } = (await app.post('/v1/accounts', { name: randomUUID() })).json;
    const path = `/v1/accounts/${name}`;
    const { id, key } = (await app.post(`${path}/keys`, body)).json;
    return { name, path, id, key };
  }

  it('changes the label and the expiry of a key, in force within 5 s', async () => {
    const { id, key, name } = await newKey();
    const path = `/v1/keys/${id}`;
    const use = async () => {
      app.clock.advance({ seconds: 5 });
      const { status, json } = await app.get('/v1/pets', { key });
      return status === 200 ? status : `${status} ${json.code}`;
    };
    const headers = { 'if-match': String((await app.get(path)).headers.etag) };
    expect((await patch(path, { label: 'till' }, { headers })).json).toMatchObject({ label: 'till' });
    expectError(await patch(path, { label: 'window' }, { headers }), 412, 'precondition_failed');
    for (const body of [{ expiresAt: '2020-01-01T00:00:00Z' }, {}])
      expectError(await patch(path, body), 400, 'validation_failed');
    const soon = new Date(app.clock.now() + 4_000).toISOString();
    expect((await patch(path, { expiresAt: soon })).json.expiresAt).toBe(soon);
    expect(await use()).toBe('401 expired_api_key');
    expect((await patch(path, { expiresAt: null })).json.expiresAt).toBeNull();
    expect(await use()).toBe(200);
    expect(
      (await app.get(`/v1/audit?account=${name}`)).json
        .slice(2)
        .map(({ command, details }: any) => `${command} ${details}`),
    ).toEqual([
      'keys set-label label till',
      `keys set-expiry expires ${soon}`,
      'keys set-expiry expires never',
    ]);
  });
});
