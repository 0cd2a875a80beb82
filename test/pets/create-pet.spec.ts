import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet, moveSequence } from '../support/factories';
import { send } from '../support/http';

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

describe('POST /v1/pets (createPet)', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const countPets = async () =>
    (await app.database.query<{ count: string }>('SELECT count(*) FROM pets'))[0]!.count;

  it('201 returns the animal with its id, available by default, and Location leads to it', async () => {
    const created = await app.post('/v1/pets', aNewPet({ name: 'Mimi' }));
    expect(created.status).toBe(201);
    const { id } = created.json;
    expect(created.json).toEqual({ id, name: 'Mimi', categoryId: 3, status: 'available' });
    expect(created.headers['location']).toBe(`/v1/pets/${id}`);
    expect((await app.get(created.headers['location']!)).text).toBe(created.text);
  });

  it.each(['available', 'pending', 'sold'])('201 with the status %s', async (status) => {
    expect((await app.post('/v1/pets', aNewPet({ status }))).json.status).toBe(status);
  });

  it.each([
    '9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
    '0',
    '-1',
    '-9007199254740993',
  ])('201 keeps categoryId %s exact', async (categoryId) => {
    const created = await app.post('/v1/pets', `{"name":"Rex","categoryId":${categoryId}}`);
    expect(created.status).toBe(201);
    expect(created.text).toContain(`"categoryId":${categoryId},`);
    expect((await app.get(created.headers['location']!)).text).toContain(`"categoryId":${categoryId},`);
  });

  it.each([
    ['1.0', '1'],
    ['1e3', '1000'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['120e-1', '12'],
    ['0e999999999', '0'],
    ['9.223372036854775807e18', '9223372036854775807'],
    ['90071992547409930E-1', '9007199254740993'],
  ])('201 takes categoryId %s as the integer %s', async (sent, kept) => {
    const created = await app.post('/v1/pets', `{"name":"Rex","categoryId":${sent}}`);
    expect(created.status).toBe(201);
    expect(created.text).toContain(`"categoryId":${kept},`);
  });

  it.each([
    '9223372036854775808',
    '-9223372036854775809',
    '1e19',
    '1e999999999',
    '1e-1',
    '0.5',
    '1.5',
    '123456789012345678901234567890',
    '"3"',
    'true',
    'null',
    '[]',
    '[1]',
    '{}',
    `1${'0'.repeat(5000)}`,
    `0.${'0'.repeat(5000)}1`,
    `1${'0'.repeat(30_000)}.${'0'.repeat(30_000)}1`,
  ])('400 validation_failed for categoryId %.40s', async (categoryId) => {
    const answer = await app.post('/v1/pets', `{"name":"Rex","categoryId":${categoryId}}`);
    expectError(answer, 400, 'validation_failed');
    expect(answer.json.message).toContain('categoryId');
  });

  it('201 keeps the name exactly as sent', async () => {
    for (const name of [
      'x',
      ' Rex ',
      'Zoë',
      'e\u0301',
      '犬',
      '<b>"\\/',
      '\u2028\u2029\uFEFF!',
      '🐶'.repeat(255),
      'x'.repeat(255),
    ]) {
      const created = await app.post('/v1/pets', aNewPet({ name }));
      expect({ name, status: created.status }).toEqual({ name, status: 201 });
      expect(created.json.name).toBe(name);
      expect((await app.get(created.headers['location']!)).json.name).toBe(name);
    }
  });

  it.each([
    ['empty', '""'],
    ['blank', '"  \\t"'],
    ['of no-break spaces', '"\\u00a0\\u3000\\ufeff"'],
    ['with NUL', '"a\\u0000b"'],
    ['with a control character', '"a\\u001bb"'],
    ['with DEL', '"a\\u007fb"'],
    ['with a C1 control character', '"a\\u0085b"'],
    ['with a lone high surrogate', '"a\\ud800"'],
    ['with a lone low surrogate', '"\\udc00a"'],
    ['with surrogates reversed', '"\\udc00\\ud800"'],
    ['of 256 code points', JSON.stringify('x'.repeat(256))],
    ['of 256 emoji', JSON.stringify('🐶'.repeat(256))],
    ['of 60,000 characters', JSON.stringify('x'.repeat(60_000))],
    ['a number', '5'],
    ['null', 'null'],
    ['an array', '["Rex"]'],
    ['an object', '{"length":3}'],
    ['an object with __proto__', '{"__proto__":null,"a":1}'],
    ['an object with constructor', '{"constructor":null}'],
    ['an object with then', '{"then":1}'],
  ])('400 validation_failed for a name %s', async (_what, name) => {
    const before = await countPets();
    const answer = await app.post('/v1/pets', `{"name":${name},"categoryId":3}`);
    expectError(answer, 400, 'validation_failed');
    expect(answer.json.message).toContain('name');
    expect(await countPets()).toBe(before);
  });

  it.each(['null', '""', '"Available"', '"lost"', '1', '["sold"]', '{}'])(
    '400 validation_failed for the status %s',
    async (status) => {
      const answer = await app.post('/v1/pets', `{"name":"Rex","categoryId":3,"status":${status}}`);
      expectError(answer, 400, 'validation_failed');
      expect(answer.json.message).toContain('status');
    },
  );

  it('400 names every field at fault, once each', async () => {
    const { json } = await app.post('/v1/pets', { status: 'lost' });
    for (const field of ['name must', 'categoryId must', 'status must']) {
      expect(json.message.split(field)).toHaveLength(2);
    }
  });

  it('ignores fields that it does not know, id and prototype members among them', async () => {
    const created = await app.post(
      '/v1/pets',
      '{"id":77,"name":"Rex","categoryId":3,"toString":1,"constructor":{"prototype":1},"__proto__":{"status":"sold"},"deep":{"a":[1.5]}}',
    );
    expect(created.status).toBe(201);
    expect(created.json).toEqual({ id: created.json.id, name: 'Rex', categoryId: 3, status: 'available' });
    expect(created.json.id).not.toBe(77);
    expectError(
      await app.post('/v1/pets', '{"__proto__":{"name":"Rex","categoryId":3}}'),
      400,
      'validation_failed',
    );
  });

  it.each([['[]'], ['[{"name":"Rex","categoryId":3}]'], ['"x"'], ['5'], ['null'], ['true']])(
    '400 validation_failed for the body %s, which is JSON but no object',
    async (body) => expectError(await app.post('/v1/pets', body), 400, 'validation_failed'),
  );

  it('creates, lists and fetches ids above 2^53 exactly', async () => {
    await moveSequence(app, 'pets', 9007199254740993n);
    const created = await app.post('/v1/pets', aNewPet());
    expect(created.text).toContain('"id":9007199254740993,');
    expect(created.headers['location']).toBe('/v1/pets/9007199254740993');
    expect((await app.get('/v1/pets/9007199254740993')).text).toBe(created.text);
    expect((await app.get('/v1/pets?limit=100')).text).toContain('"id":9007199254740993,');
  });

  describe('bodies', () => {
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
      [
        'of 1 MB, chunked',
        413,
        'payload_too_large',
        'x'.repeat(1_000_000),
        { 'transfer-encoding': 'chunked' },
      ],
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
});
