import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { runCli } from '../support/cli';
import { expectError } from '../support/expect-error';

describe('the input of administration', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const run = (...args: string[]) => runCli(args, { DATABASE_URL: app.database.url });
  const patch = (path: string, body: object) => app.send('PATCH', path, { body });
  const auditEntries = () => app.database.query('SELECT count(*) FROM audit_entries');
  async function newKey() {
    const { name } = (await app.post('/v1/accounts', { name: randomUUID() })).json;
    const path = `/v1/accounts/${name}`;
    return { path, id: (await app.post(`${path}/keys`, {})).json.id as string };
  }

  it.each<[object, string]>([
    [
      { plan: 'enterprise' },
      'perMinute is missing: the plan enterprise needs it; perDay is missing: the plan enterprise needs it.',
    ],
    [{ plan: 'enterprise', perMinute: 5 }, 'perDay is missing: the plan enterprise needs it.'],
    [
      { plan: 'enterprise', perMinute: null, perDay: 5 },
      'perMinute is missing: the plan enterprise needs it.',
    ],
    [{ plan: 'pro', perDay: 5 }, 'plan must be enterprise if perDay is given.'],
    [
      { plan: 'free', perDay: 5, perMinute: 5 },
      'plan must be enterprise if perMinute is given; plan must be enterprise if perDay is given.',
    ],
  ])('names the limits of %j that do not fit its plan', async (body, message) => {
    const { path } = await newKey();
    const entries = await auditEntries();
    for (const response of [
      await app.post('/v1/accounts', { name: randomUUID(), ...body }),
      await patch(path, body),
    ]) {
      expectError(response, 400, 'validation_failed');
      expect(response.json.message).toBe(message);
    }
    expect(await auditEntries()).toEqual(entries);
    expectError(await app.post('/v1/accounts', { name: randomUUID(), perDay: 5 }), 400, 'validation_failed');
  });

  it('accepts the expiry of a key in each form of RFC 3339, and returns it in one', async () => {
    const { path } = await newKey();
    for (const expiresAt of [
      '2099-06-01T00:00:00Z',
      '2099-06-01T02:00:00+02:00',
      '2099-05-31t14:00:00.000000-10:00',
      '2099-06-01 00:00:00z',
    ]) {
      const { status, json } = await app.post(`${path}/keys`, { expiresAt });
      expect([status, json.expiresAt]).toEqual([201, '2099-06-01T00:00:00.000Z']);
    }
  });

  it('keeps names and labels in NFC, and finds an account in each normal form', async () => {
    const name = `Zoë ${randomUUID()}`;
    const { status, json } = await app.post('/v1/accounts', { name: name.normalize('NFD') });
    expect([status, json.name]).toEqual([201, name]);
    expectError(await app.post('/v1/accounts', { name }), 409, 'account_exists');
    const headers = { 'idempotency-key': randomUUID() };
    const create = (form: string) =>
      app.post(
        `/v1/accounts/${encodeURIComponent(form)}/keys`,
        { label: 'Zoë'.normalize('NFD') },
        { headers },
      );
    const [first, again] = [await create(name), await create(name.normalize('NFD'))];
    expect(first.json.label).toBe('Zoë');
    expectError(again, 409, 'secret_already_shown');
  });

  it('rejects new names and labels that look like others, or change the text around them', async () => {
    const { path, id } = await newKey();
    for (const [before, after] of [
      '\u200b',
      '\u202e',
      '\u2066',
      '\u00ad',
      '\ufeff',
      '\u009b',
      '\u2028',
    ].flatMap((each) => [
      ['a', `${each}b`],
      [each, 'b'],
    ])) {
      const text = `${before}${after}`;
      expectError(await app.post('/v1/accounts', { name: text }), 400, 'validation_failed');
      expectError(await app.post(`${path}/keys`, { label: text }), 400, 'validation_failed');
      expectError(await patch(`/v1/keys/${id}`, { label: text }), 400, 'validation_failed');
    }
    for (const name of [' a', 'a\u00a0', '\u3000a', 'x'.repeat(65), '🐈'.repeat(65)])
      expectError(await app.post('/v1/accounts', { name }), 400, 'validation_failed');
    expect((await app.post('/v1/accounts', { name: '🐈'.repeat(64) })).status).toBe(201);
    expect((await patch(`/v1/keys/${id}`, { label: '' })).json.label).toBe('');
  });

  it('still reaches an account that an earlier version has named otherwise', async () => {
    const names = [' acme', 'acme\u200b', 'Zoe\u0308', 'x'.repeat(100), '\u202egnp'];
    for (const name of names) {
      await app.database.query(`INSERT INTO accounts (name, plan) VALUES ($1, 'free')`, [name]);
      const path = `/v1/accounts/${encodeURIComponent(name)}`;
      expect((await app.get(path)).json.name).toBe(name);
      expect((await patch(path, { disabled: true })).json).toMatchObject({
        name,
        disabledAt: new Date(app.clock.now()).toISOString(),
      });
      expect(await run('accounts', 'enable', name)).toMatchObject({ status: 0 });
      expect(await run('usage', '--account', name)).toMatchObject({ status: 0 });
    }
    const { out } = await run('accounts', 'list');
    expect(out).toMatch(/acme\\u200b$/m);
    expect(out).toMatch(/\\u202egnp$/m);
    const listed = (await run('accounts', 'list', '--json')).json();
    expect(listed.map(({ account }: { account: string }) => account)).toEqual(expect.arrayContaining(names));
  });
});
