import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';
import { linksOf } from '../support/links';

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

  it('lists the keys that expire within a time, or are banned, of an account and of all', async () => {
    const { name, path, id: never } = await newKey({ expiresAt: null });
    const inDays = (days: number) => new Date(app.clock.now() + days * 86_400_000).toISOString();
    const keys: Record<string, string> = { never };
    for (const [label, days] of Object.entries({ soon: 29, late: 31, revoked: 1 }))
      keys[label] = (await app.post(`${path}/keys`, { label, expiresAt: inDays(days) })).json.id;
    await app.send('DELETE', `/v1/keys/${keys['revoked']}`);
    for (const each of ['soon', 'late'])
      await app.database.query(`INSERT INTO key_bans VALUES ($1, now() + interval '1 h')`, [keys[each]]);
    const listed = async (query: string, list = `${path}/keys`) => {
      const labels: (string | undefined)[] = [];
      for (let next: string | undefined = `${list}?limit=1&${query}`; next !== undefined;) {
        const page = await app.get(next);
        labels.push(...page.json.map(({ id }: any) => Object.keys(keys).find((each) => keys[each] === id)));
        next = linksOf(page)['next'];
      }
      return labels.filter((label) => label !== undefined).join();
    };
    for (const list of [`${path}/keys`, '/v1/keys']) {
      expect([
        await listed('expiring=30d', list),
        await listed('expiring=745h&sort=-id', list),
        await listed('banned=true', list),
        await listed('banned=false', list),
        await listed('banned=true&expiring=30d', list),
      ]).toEqual(['soon', 'late,soon', 'soon,late', 'never,revoked', 'soon']);
      for (const query of ['expiring=30', 'expiring=0d', 'expiring=1w', 'expiring=', 'banned=1', 'banned='])
        expectError(await app.get(`${list}?${query}`), 400, 'validation_failed');
    }
    for (const [query, options] of [
      ['expiring=30d', '--expiring=30d'],
      ['banned=true', '--banned'],
    ] as const) {
      const run = await runCli(['keys', 'list', '--json', '--account', name, options], {
        DATABASE_URL: app.database.url,
      });
      expect(run.json()).toEqual((await app.get(`${path}/keys?${query}`)).json);
    }
  });
});
