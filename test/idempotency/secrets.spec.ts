import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

const URL_A = { url: 'https://shop.example/a' };

/** Requests with a secret in their response: a body, and one that is another request. */
const REQUESTS: readonly (readonly [id: string, path: string, body: object, other: object])[] = [
  ['createKey', '/accounts/acme/keys', {}, { label: 'x' }],
  ['rotateKey', '/keys/KEY/rotate', {}, { graceSeconds: 0 }],
  ['createWebhook', '/webhooks', URL_A, { url: 'https://shop.example/b' }],
  ['rotateWebhook', '/webhooks/WEBHOOK/rotate', {}, { graceSeconds: 0 }],
];

describe('an Idempotency-Key of a request whose response has a secret', () => {
  let app: TestApp;
  let fill: (path: string) => string;
  beforeAll(async () => {
    app = await startApp();
    await app.post('/v1/accounts', { name: 'acme' });
    const key = (await app.post('/v1/accounts/acme/keys', {})).json.id;
    const webhook = (await app.post('/v1/webhooks', { url: 'https://shop.example/webhooks' })).json.id;
    fill = (path) => `/v1${path.replace('KEY', key).replace('WEBHOOK', webhook)}`;
  });
  afterAll(() => app.close());

  /** Lists the changes; each of them has an entry. */
  const changes = async () => (await app.get('/v1/audit?limit=100')).json;

  it.each(REQUESTS)(
    '%s: a repetition takes no effect, and is 409 with Location and the next step; another body is 422',
    async (id, path, body, other) => {
      const headers = { 'idempotency-key': id };
      const first = await app.post(fill(path), body, { headers });
      const { key: secret = first.json.secret } = first.json;
      expect(secret).toMatch(/^(ask_test|whsec)_/);
      const { account } = (await app.get('/v1/key')).json;
      const { key: colleague } = await app.createKey({ account, choice: undefined });
      const before = await changes();
      const location = `/v1/${id.endsWith('Key') ? 'keys' : 'webhooks'}/${first.json.id}`;
      for (const [target, key] of [
        [fill(path), app.key],
        // Another spelling of the path.
        [fill(path).replace('acme', '%61cme').replace('/web', '/%77eb'), app.key],
        [fill(path), colleague],
      ] as const) {
        const again = await app.post(target, body, { headers, key });
        expectError(again, 409, 'secret_already_shown');
        expect(again.headers.location).toBe(location);
        expect(again.json.message).toBe(
          `The first request with this Idempotency-Key has shown the secret of ${location}. If you do not have it, rotate it with a new Idempotency-Key, or remove the resource and create another.`,
        );
      }
      expectError(await app.post(fill(path), other, { headers }), 422, 'idempotency_key_reused');
      expect(await changes()).toEqual(before);
      const anew = await app.post(fill(path), body, { headers: { 'idempotency-key': `${id}-again` } });
      expect(anew.status).toBe(first.status);
    },
  );

  it('stores no secret: no table has that of a key, and only webhooks has theirs', async () => {
    const secrets: string[] = [];
    for (const [id, path, body] of REQUESTS) {
      const { json } = await app.post(fill(path), body, { headers: { 'idempotency-key': `${id}-stored` } });
      const secret = String(json.key ?? json.secret).replace(/^(ask_test|whsec)_/, '');
      expect(secret.length).toBeGreaterThan(30);
      const forms = [Buffer.from(secret, 'base64'), Buffer.from(secret)];
      secrets.push(secret, ...forms.map((form) => form.toString('hex')));
    }
    const tables = await app.database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname <> 'webhooks'`,
    );
    for (const { name } of tables) {
      const rows = await app.database.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      const text = rows.map(({ row }) => row).join('\n');
      expect([name, secrets.filter((secret) => text.includes(secret))]).toEqual([name, []]);
    }
    expect(secrets.filter((secret) => app.log.join('\n').includes(secret))).toEqual([]);
  });
});
