import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';

describe('a stored response with the secret of a webhook', () => {
  let app: TestApp;
  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());

  it('is encrypted, and only the key that sent the request gets it again', async () => {
    const { account } = (await app.get('/v1/key')).json;
    const { key: other } = await app.createKey({ account, choice: undefined });
    const headers = { 'idempotency-key': 'once' };
    const body = { url: 'https://shop.example/webhooks' };
    const created = await app.post('/v1/webhooks', body, { headers });
    for (const [path, sent] of [
      ['/v1/webhooks', body],
      [`/v1/webhooks/${created.json.id}/rotate`, undefined],
    ] as const) {
      const first = await app.send('POST', path, { body: sent, headers });
      const again = await app.send('POST', path, { body: sent, headers });
      expect(first.json.secret).toMatch(/^whsec_/);
      expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
      expectError(
        await app.send('POST', path, { body: sent, headers, key: other }),
        422,
        'idempotency_key_reused',
      );
    }
    const rows = await app.database.query<{ answer: string }>('SELECT answer FROM idempotency_keys');
    expect(rows).toHaveLength(2);
    expect(rows.filter(({ answer }) => /whsec_|shop[.]example/.test(answer))).toEqual([]);
  });
});
