import { startApp, type TestApp } from '../support/app';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';
import { send, sendRaw } from '../support/http';

/** Bodies that need more than one row of bytes; test/edge/raw has the rejections of text, type and framing. */
describe('bodies', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const countPets = async () =>
    (await app.database.query<{ count: string }>('SELECT count(*) FROM pets'))[0]!.count;

  it('413 payload_too_large for one byte more than BODY_LIMIT_BYTES, and nothing is stored', async () => {
    const before = await countPets();
    const body = JSON.stringify('x'.repeat(65_535));
    expect(Buffer.byteLength(body)).toBe(65_537);
    expectError(await app.post('/v1/pets', body), 413, 'payload_too_large');
    expect(await countPets()).toBe(before);
  });

  it.each([
    ['no length', ''],
    ['a length of 00', 'Content-Length: 00\r\n'],
    ['no chunk', 'Transfer-Encoding: chunked\r\n'],
  ])('400 validation_failed for an empty body with %s and any Content-Type', async (_case, framing) => {
    for (const type of ['foo', ';;', '', 'application/xml', 'application/json']) {
      const response = await sendRaw(
        app.url,
        `POST /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: ${type}\r\n${framing}\r\n${framing.startsWith('T') ? '0\r\n\r\n' : ''}`,
      );
      expect(response).toContain('"code":"validation_failed"');
    }
  });

  it('400 validation_failed for no body and no Content-Type', async () => {
    expectError(await app.send('POST', '/v1/pets'), 400, 'validation_failed');
  });

  it('415 unsupported_media_type for a body without Content-Type', async () => {
    const response = await send(app.url, 'POST', '/v1/pets', {
      key: app.key,
      chunked: '{"name":"Rex","categoryId":3}',
      headers: { 'transfer-encoding': 'chunked' },
    });
    expectError(response, 415, 'unsupported_media_type');
  });

  it.each([
    ['application/json; charset=utf-8'],
    ['Application/JSON'],
    ['application/json;charset=UTF-8'],
    ['application/json ; x="y"'],
  ])('201 for Content-Type %s', async (type) => {
    expect((await app.post('/v1/pets', aNewPet(), { headers: { 'content-type': type } })).status).toBe(201);
  });

  it('201 for Content-Encoding identity, 32 levels, a repeated member with one value, and a body of the largest size', async () => {
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
