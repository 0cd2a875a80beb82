import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { send, sendRaw } from '../support/http';

type Row = [
  what: string,
  status: number,
  code: string,
  body: string | Buffer,
  headers?: Record<string, string>,
];

function cases(rows: Row[]) {
  return rows.map(([what, status, code, body, headers = {}]) => ({ what, status, code, body, headers }));
}

describe('bodies', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const countPets = async () =>
    (await app.database.query<{ count: string }>('SELECT count(*) FROM pets'))[0]!.count;

  const bad = cases([
    ['that are no JSON', 400, 'malformed_json', '{"name":'],
    ['with a trailing comma', 400, 'malformed_json', '{"name":"Rex","categoryId":3,}'],
    ['of 60,000 times [', 400, 'malformed_json', '['.repeat(60_000)],
    [
      'nested 33 deep',
      400,
      'malformed_json',
      `{"name":"Rex","categoryId":3,"x":${'['.repeat(32)}${']'.repeat(32)}}`,
    ],
    ['with a byte-order mark', 400, 'malformed_json', Buffer.from('\uFEFF{"name":"Rex","categoryId":3}')],
    ['in UTF-16', 400, 'malformed_json', Buffer.from('{"name":"Rex","categoryId":3}', 'utf16le')],
    ['that are not UTF-8', 400, 'malformed_json', Buffer.from('{"name":"\xff","categoryId":3}', 'latin1')],
    [
      'with a member twice and two values',
      400,
      'malformed_json',
      '{"name":"Rex","name":"Max","categoryId":3}',
    ],
    [
      'with such a member deep inside',
      400,
      'malformed_json',
      '{"name":"Rex","categoryId":3,"x":[{"a":1,"a":2}]}',
    ],
    ['of 1 MB', 413, 'payload_too_large', JSON.stringify(aNewPet({ name: 'x'.repeat(1_000_000) }))],
    ['one byte too large', 413, 'payload_too_large', JSON.stringify('x'.repeat(65_535))],
    ['in XML', 415, 'unsupported_media_type', '<pet/>', { 'content-type': 'application/xml' }],
    [
      'of 1 MB in XML',
      415,
      'unsupported_media_type',
      'x'.repeat(1_000_000),
      { 'content-type': 'application/xml' },
    ],
    [
      'as a form',
      415,
      'unsupported_media_type',
      'name=Rex',
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['as plain text', 415, 'unsupported_media_type', '{}', { 'content-type': 'text/plain' }],
    ['of another JSON type', 415, 'unsupported_media_type', '{}', { 'content-type': 'application/jsonx' }],
    ['of no sensible type', 415, 'unsupported_media_type', '{}', { 'content-type': ';;' }],
    ['that are compressed', 415, 'unsupported_media_type', '{}', { 'content-encoding': 'gzip' }],
    [
      'in XML, chunked',
      415,
      'unsupported_media_type',
      '<pet/>',
      { 'content-type': 'text/xml', 'transfer-encoding': 'chunked' },
    ],
    ['of 1 MB, chunked', 413, 'payload_too_large', 'x'.repeat(1_000_000), { 'transfer-encoding': 'chunked' }],
    ['that are empty', 400, 'validation_failed', ''],
    ['that are empty, in XML', 400, 'validation_failed', '', { 'content-type': 'application/xml' }],
    ['that are empty, of no sensible type', 400, 'validation_failed', '', { 'content-type': ';;' }],
    ['that are empty, chunked', 400, 'validation_failed', '', { 'transfer-encoding': 'chunked' }],
  ]);

  /** Node refuses both framings at once, so a chunked body has no length. */
  const post = (
    body: string | Buffer,
    headers: Record<string, string> = {},
    key: string | undefined = app.key,
  ) => {
    const { 'transfer-encoding': chunked, ...rest } = headers;
    if (chunked === undefined) return app.post('/v1/pets', body, { headers: rest, key });
    return send(app.url, 'POST', '/v1/pets', {
      key,
      headers: { 'content-type': 'application/json', ...headers },
      chunked: body,
    });
  };

  it.each(bad)('$what: $status $code', async ({ status, code, body, headers }) => {
    const before = await countPets();
    expectError(await post(body, headers), status, code);
    expect(await countPets()).toBe(before);
  });

  it.each(bad)('$what and no key: 401', async ({ body, headers }) => {
    const { 'transfer-encoding': chunked, ...rest } = headers;
    const answer = await send(
      app.url,
      'POST',
      '/v1/pets',
      chunked === undefined
        ? { body, headers: rest }
        : { headers: { 'content-type': 'application/json', ...headers }, chunked: body },
    );
    expectError(answer, 401, 'missing_api_key');
  });

  it.each([
    ['no length', ''],
    ['a length of 00', 'Content-Length: 00\r\n'],
    ['no chunk', 'Transfer-Encoding: chunked\r\n'],
  ])('empty by %s: 400 validation_failed whatever the Content-Type', async (_what, framing) => {
    for (const type of ['foo', ';;', '', 'application/xml', 'application/json']) {
      const answer = await sendRaw(
        app.url,
        `POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: ${type}\r\n${framing}\r\n${framing.startsWith('T') ? '0\r\n\r\n' : ''}`,
      );
      expect(answer).toContain('"code":"validation_failed"');
    }
  });

  it('with two Content-Types: 415, whichever comes first', async () => {
    for (const types of [
      ['application/json', 'text/xml'],
      ['text/xml', 'application/json'],
    ]) {
      const lines = types.map((type) => `Content-Type: ${type}\r\n`).join('');
      const answer = await sendRaw(
        app.url,
        `POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.key}\r\n${lines}Content-Length: 2\r\n\r\n{}`,
      );
      expect(answer).toContain('"code":"unsupported_media_type"');
    }
  });

  it('no body and no Content-Type: 400 validation_failed', async () => {
    expectError(await app.send('POST', '/v1/pets'), 400, 'validation_failed');
  });

  it('a body without Content-Type: 415', async () => {
    const answer = await send(app.url, 'POST', '/v1/pets', {
      key: app.key,
      chunked: '{"name":"Rex","categoryId":3}',
      headers: { 'transfer-encoding': 'chunked' },
    });
    expectError(answer, 415, 'unsupported_media_type');
  });

  it.each([
    ['application/json; charset=utf-8'],
    ['Application/JSON'],
    ['application/json;charset=UTF-8'],
    ['application/json ; x="y"'],
  ])('201 for Content-Type %s', async (type) => {
    expect((await app.post('/v1/pets', aNewPet(), { headers: { 'content-type': type } })).status).toBe(201);
  });

  it('201 for Content-Encoding identity, 32 levels, a member twice with one value, a body of the largest size', async () => {
    const largest = JSON.stringify(aNewPet({ x: '' })).replace('""', `"${'x'.repeat(65_536 - 36)}"`);
    expect(Buffer.byteLength(largest)).toBe(65_536);
    expect(
      (await app.post('/v1/pets', aNewPet(), { headers: { 'content-encoding': 'identity' } })).status,
    ).toBe(201);
    expect(
      (await app.post('/v1/pets', `{"name":"Rex","categoryId":3,"x":${'['.repeat(31)}${']'.repeat(31)}}`))
        .status,
    ).toBe(201);
    expect(
      (await app.post('/v1/pets', '{"name":"Rex","name":"Rex","categoryId":3,"categoryId":3.0}')).status,
    ).toBe(201);
    expect((await app.post('/v1/pets', largest)).status).toBe(201);
  });
});
